//! IPv6 addresses as text, in ClickHouse's forms.
//!
//! Parses eight groups of up to four hexadecimal digits, `::` once for groups of zeroes, an IPv4 address in place
//! of the last two groups, or an IPv4 address alone, which means `::ffff:1.2.3.4`. Writes the first of the longest
//! runs of at least two zero groups as `::`, and the last 32 bits as an IPv4 address after `::` or `::ffff:`.

use basalt_base::{Error, ErrorCode, Result};

use super::address::{dotted, write_ipv4};
use super::escape::hex;
use super::number::unreadable;

/// The bytes of an IPv6 address.
pub const IPV6_BYTES: usize = 16;
const GROUPS: usize = IPV6_BYTES / 2;
const GROUP_DIGITS_MAX: usize = 4;
/// Bytes of an IPv4 address inside an IPv6 address.
const IPV4_BYTES: usize = 4;

/// Writes `2001:db8::1` from the bytes in that order. Writes nothing for other lengths than [`IPV6_BYTES`].
pub fn write_ipv6(address: &[u8], out: &mut Vec<u8>) {
    let Ok(address) = <&[u8; IPV6_BYTES]>::try_from(address) else { return };
    let mut groups = [0_u16; GROUPS];
    for (group, pair) in groups.iter_mut().zip(address.chunks_exact(2)) {
        *group = u16::from_be_bytes([pair[0], pair[1]]);
    }
    let (gap, zeroes) = longest_zeroes(&groups);
    // `::1.2.3.4` and `::ffff:1.2.3.4`.
    let dotted_from = match (gap, zeroes) {
        (0, 6) => 6,
        (0, 5) if groups[5] == 0xffff => 6,
        _ => GROUPS,
    };
    let mut at = 0;
    while at < dotted_from {
        if zeroes > 0 && at == gap {
            out.extend_from_slice(b"::");
            at += zeroes;
            continue;
        }
        write_group(groups[at], out);
        at += 1;
        if at < GROUPS && at != gap {
            out.push(b':');
        }
    }
    if dotted_from < GROUPS {
        let last = [address[12], address[13], address[14], address[15]];
        write_ipv4(u32::from_be_bytes(last), out);
    }
}

/// The start and the length of the longest run of zero groups; runs of one group do not count.
fn longest_zeroes(groups: &[u16; GROUPS]) -> (usize, usize) {
    let mut best = (GROUPS, 0);
    let mut at = 0;
    while at < GROUPS {
        let zeroes = groups[at..].iter().take_while(|&&group| group == 0).count();
        if zeroes >= 2 && zeroes > best.1 {
            best = (at, zeroes);
        }
        at += zeroes.max(1);
    }
    best
}

/// Writes a group in hexadecimal digits without leading zeroes.
fn write_group(group: u16, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut is_first = true;
    for shift in [12, 8, 4, 0] {
        let digit = group >> shift & 15;
        if digit != 0 || !is_first || shift == 0 {
            out.push(DIGITS[usize::from(digit)]);
            is_first = false;
        }
    }
}

/// The address that `text` is.
pub fn parse_ipv6(text: &[u8]) -> Result<[u8; IPV6_BYTES]> {
    let parsed = if text.contains(&b':') { grouped(text) } else { mapped(text) };
    parsed.ok_or_else(|| ipv6_error(text))
}

/// Parses an IPv4 address alone. Its first number has no leading zero, because it could then be a group.
fn mapped(text: &[u8]) -> Option<[u8; IPV6_BYTES]> {
    if let [b'0', next, ..] = text
        && *next != b'.'
    {
        return None;
    }
    Some(ipv4_to_ipv6(dotted(text)?))
}

/// The IPv4-mapped address `::ffff:1.2.3.4`.
pub fn ipv4_to_ipv6(address: u32) -> [u8; IPV6_BYTES] {
    let mut mapped = [0; IPV6_BYTES];
    mapped[10..12].fill(0xff);
    mapped[12..].copy_from_slice(&address.to_be_bytes());
    mapped
}

fn grouped(text: &[u8]) -> Option<[u8; IPV6_BYTES]> {
    let mut address = [0; IPV6_BYTES];
    let mut filled = 0;
    let mut gap = None;
    let mut rest = text;
    if let Some(after) = text.strip_prefix(b"::") {
        gap = Some(0);
        rest = after;
    }
    while !(rest.is_empty() && gap == Some(filled)) {
        let digits = rest.iter().take_while(|&&byte| hex(byte).is_some()).count();
        let (group, after) = rest.split_at(digits);
        if after.first() == Some(&b'.') {
            let end = filled + IPV4_BYTES;
            address.get_mut(filled..end)?.copy_from_slice(&dotted(rest)?.to_be_bytes());
            filled = end;
            break;
        }
        if !(1..=GROUP_DIGITS_MAX).contains(&digits) {
            return None;
        }
        let value = group.iter().filter_map(|&digit| hex(digit));
        let value = value.fold(0_u16, |value, digit| value << 4 | u16::from(digit));
        address.get_mut(filled..filled + 2)?.copy_from_slice(&value.to_be_bytes());
        filled += 2;
        rest = match after {
            [] => break,
            [b':', b':', after @ ..] if gap.is_none() && filled < IPV6_BYTES => {
                gap = Some(filled);
                after
            }
            [b':', after @ ..] if !after.is_empty() => after,
            _ => return None,
        };
    }
    match gap {
        Some(gap) => {
            // Moves the groups after the gap to the end.
            address.copy_within(gap..filled, IPV6_BYTES - (filled - gap));
            address[gap..IPV6_BYTES - (filled - gap)].fill(0);
        }
        None if filled < IPV6_BYTES => return None,
        None => {}
    }
    Some(address)
}

#[cold]
fn ipv6_error(text: &[u8]) -> Error {
    let what = "an IPv6 address such as `2001:db8::1` or `::ffff:1.2.3.4`";
    Error::new(ErrorCode::CannotParseIpv6, unreadable(text, what).message())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    fn written(address: &[u8]) -> String {
        let mut out = Vec::new();
        write_ipv6(address, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Compares with ClickHouse's result for the text.
    fn check(text: &str, expected: Option<&str>) {
        let found = parse_ipv6(text.as_bytes()).ok().map(|address| written(&address));
        assert_eq!(found.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn texts_are_those_of_clickhouse() {
        for (text, expected) in [
            ("::", "::"),
            ("1::", "1::"),
            ("1:0:0:2::", "1:0:0:2::"),
            ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
            ("1.2.3.4", "::ffff:1.2.3.4"),
            ("0.1.2.3", "::ffff:0.1.2.3"),
            ("1.0002.3.4", "::ffff:1.2.3.4"),
            ("::01.2.3.4", "::1.2.3.4"),
            ("::1:0", "::0.1.0.0"),
            ("::ffff:0:1", "::ffff:0.0.0.1"),
            ("2001:DB8::ff", "2001:db8::ff"),
            ("1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"),
            ("0:0:1:0:0:1:0:0", "::1:0:0:1:0:0"),
            ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
            ("::1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
            ("1::2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
            ("1:2:3:4:5::1.2.3.4", "1:2:3:4:5:0:102:304"),
        ] {
            check(text, Some(expected));
        }
    }

    #[test]
    fn other_texts_are_no_addresses() {
        for text in [
            "",
            ":",
            ":::",
            "1",
            "1:2",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4:5:6:7:8::",
            "12345::",
            "00001::",
            "g::",
            "::1::",
            "1.2.3",
            "01.2.3.4",
            "256.1.1.1",
            "::1.2.3.256",
            "::1.2.3",
            "::1.2.3.4.5",
            " ::1",
            "::1 ",
            "::1%eth0",
            "[::1]",
            "1:2:3:4:5:6:7:1.2.3.4",
            "::1.2.3.4:5",
            "1.2.3.4::",
            ":1::",
            "::1:",
            "1:",
            "::a.2.3.4",
            "::.1.2.3",
            "1.2.3.00004",
        ] {
            check(text, None);
        }
        let error = parse_ipv6(b"zz").unwrap_err();
        assert_eq!(error.code(), ErrorCode::CannotParseIpv6);
        assert!(error.message().contains("an IPv6 address such as"), "{error}");
    }

    proptest! {
        #[test]
        fn every_address_is_read_as_the_standard_library_reads_it(address: [u16; 8], zeroes: u8) {
            let mut groups = address;
            (0..8).filter(|at| zeroes >> at & 1 == 1).for_each(|at| groups[at] = 0);
            let address = Ipv6Addr::from(groups);
            let text = written(&address.octets());
            prop_assert_eq!(text.parse::<Ipv6Addr>().ok(), Some(address), "{}", text);
            prop_assert_eq!(parse_ipv6(text.as_bytes()).unwrap(), address.octets());
            let whole = groups.map(|group| format!("{group:04X}")).join(":");
            prop_assert_eq!(parse_ipv6(whole.as_bytes()).unwrap(), address.octets());
        }

        #[test]
        fn what_the_standard_library_reads_is_read(text in "[0-9a-f:.]{0,12}|([0-9a-f]{0,4}:){1,8}[0-9a-f]{0,4}|[0-9.]{7,9}") {
            let found = parse_ipv6(text.as_bytes()).ok();
            if let Ok(address) = text.parse::<Ipv6Addr>() {
                prop_assert_eq!(found, Some(address.octets()));
            }
            if let Ok(address) = text.parse::<Ipv4Addr>() {
                prop_assert_eq!(found, Some(ipv4_to_ipv6(address.to_bits())));
            }
        }

        #[test]
        fn any_bytes_are_an_address_or_an_error(text: Vec<u8>) {
            if let Ok(address) = parse_ipv6(&text) {
                prop_assert_eq!(parse_ipv6(written(&address).as_bytes()).unwrap(), address);
            }
        }
    }
}
