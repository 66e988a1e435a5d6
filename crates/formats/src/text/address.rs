//! UUIDs, IPv4 addresses and booleans as text.

use basalt_base::{Error, ErrorCode, Result};

use super::escape::hex;
use super::number::unreadable;

/// Bytes of a UUID.
pub(super) const UUID_BYTES: usize = 16;
const HYPHENS_BEFORE: [usize; 4] = [4, 6, 8, 10];

/// Writes `61f0c404-5cb3-11e7-907b-a6006ad3dba0` from the bytes in that order.
pub fn write_uuid(uuid: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (at, byte) in uuid.iter().enumerate() {
        if HYPHENS_BEFORE.contains(&at) {
            out.push(b'-');
        }
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// Parses 32 hexadecimal digits, with hyphens in the usual places or without.
pub fn parse_uuid(text: &[u8]) -> Result<[u8; UUID_BYTES]> {
    let hyphens = text.len() != 2 * UUID_BYTES;
    let mut uuid = [0; UUID_BYTES];
    let mut rest = text;
    for (at, byte) in uuid.iter_mut().enumerate() {
        if hyphens && HYPHENS_BEFORE.contains(&at) {
            rest = rest.strip_prefix(b"-").ok_or_else(|| uuid_error(text))?;
        }
        let &[high, low, ref after @ ..] = rest else { return Err(uuid_error(text)) };
        let (Some(high), Some(low)) = (hex(high), hex(low)) else { return Err(uuid_error(text)) };
        *byte = high << 4 | low;
        rest = after;
    }
    if rest.is_empty() { Ok(uuid) } else { Err(uuid_error(text)) }
}

#[cold]
fn uuid_error(text: &[u8]) -> Error {
    Error::new(ErrorCode::CannotParseUuid, unreadable(text, "a UUID").message())
}

/// Writes `1.2.3.4`, the highest byte first.
pub fn write_ipv4(address: u32, out: &mut Vec<u8>) {
    for (at, byte) in address.to_be_bytes().into_iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        super::number::write_integer(byte, out);
    }
}

/// Parses four numbers of up to four digits, separated by points.
pub fn parse_ipv4(text: &[u8]) -> Result<u32> {
    dotted(text).ok_or_else(|| ipv4_error(text))
}

/// Like [`parse_ipv4`], but without leading zeroes.
pub fn parse_strict_ipv4(text: &[u8]) -> Result<u32> {
    let is_short = |part: &[u8]| part.len() == 1 || part.first() != Some(&b'0');
    let address = dotted(text).filter(|_| text.split(|&byte| byte == b'.').all(is_short));
    address.ok_or_else(|| ipv4_error(text))
}

/// The address of four numbers separated by points.
pub(super) fn dotted(text: &[u8]) -> Option<u32> {
    const DIGITS_MAX: usize = 4;
    let mut address = 0_u32;
    let mut parts = 0;
    for part in text.split(|&byte| byte == b'.') {
        if parts == 4 || part.len() > DIGITS_MAX {
            return None;
        }
        let number = atoi_simd::parse_pos::<u16, false>(part).ok()?;
        address = address << 8 | u32::from(u8::try_from(number).ok()?);
        parts += 1;
    }
    (parts == 4).then_some(address)
}

#[cold]
fn ipv4_error(text: &[u8]) -> Error {
    Error::new(
        ErrorCode::CannotParseIpv4,
        unreadable(text, "an IPv4 address such as `192.168.0.1`").message(),
    )
}

/// Parses `true`, `false` and ClickHouse's other forms, in any case.
pub fn parse_bool(text: &[u8]) -> Result<bool> {
    const TRUE: [&[u8]; 8] = [b"true", b"1", b"t", b"yes", b"y", b"on", b"enable", b"enabled"];
    const FALSE: [&[u8]; 8] = [b"false", b"0", b"f", b"no", b"n", b"off", b"disable", b"disabled"];
    if TRUE.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Ok(true);
    }
    if FALSE.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Ok(false);
    }
    Err(Error::new(ErrorCode::CannotParseBool, unreadable(text, "`true` or `false`").message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_read_with_and_without_hyphens() {
        let plain = parse_uuid(b"61F0C4045CB311E7907BA6006AD3DBA0").unwrap();
        let mut out = Vec::new();
        write_uuid(&plain, &mut out);
        assert_eq!(out, b"61f0c404-5cb3-11e7-907b-a6006ad3dba0");
        assert_eq!(parse_uuid(&out).unwrap(), plain);
        for bad in
            [&b""[..], b"x", b"61f0c404-5cb3-11e7-907b-a6006ad3dba", b"61f0c404-5cb3-11e7-907b-a6006ad3dba00"]
        {
            assert!(parse_uuid(bad).is_err());
        }
    }

    #[test]
    fn addresses_have_four_bytes() {
        assert_eq!(parse_ipv4(b"1.2.3.4").unwrap(), 0x0102_0304);
        assert_eq!(parse_ipv4(b"0001.02.003.0004").unwrap(), 0x0102_0304);
        assert_eq!(parse_strict_ipv4(b"0.10.200.0").unwrap(), 0x000a_c800);
        assert!(parse_strict_ipv4(b"1.2.3.04").is_err());
        for bad in [
            &b""[..],
            b"1.2.3",
            b"1.2.3.4.5",
            b"256.1.1.1",
            b"16909060",
            b"1..2.3",
            b"1.2.3.+4",
            b"1.2.3.00004",
        ] {
            assert!(parse_ipv4(bad).is_err(), "{bad:?}");
        }
    }
}
