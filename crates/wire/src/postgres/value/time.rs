//! Instants: in text with the offset of their zone, in binary as microseconds since 2000.

use basalt_base::zone::Zone;
use basalt_formats::text::write_date_time64;

/// Decimal digits of a second that PostgreSQL keeps.
const DIGITS: u8 = 6;
/// 2000-01-01 in microseconds since 1970.
const EPOCH_US: i64 = 946_684_800_000_000;

/// Microseconds since 1970; digits beyond them are cut off.
fn microseconds(ticks: i64, precision: u8) -> i64 {
    match precision {
        0..=DIGITS => ticks.saturating_mul(10_i64.pow(u32::from(DIGITS - precision))),
        more => ticks.div_euclid(10_i64.pow(u32::from(more - DIGITS))),
    }
}

/// Microseconds since 2000.
pub(super) fn since_2000(ticks: i64, precision: u8) -> i64 {
    microseconds(ticks, precision).saturating_sub(EPOCH_US)
}

/// Appends `2024-01-02 03:04:05.6+01`.
pub(super) fn put_instant(ticks: i64, precision: u8, zone: Zone, out: &mut Vec<u8>) {
    let digits = precision.min(DIGITS);
    let ticks = match precision {
        0..=DIGITS => ticks,
        _ => microseconds(ticks, precision),
    };
    write_date_time64(ticks, digits, zone, out);
    if digits > 0 {
        while out.last() == Some(&b'0') {
            out.pop();
        }
        if out.last() == Some(&b'.') {
            out.pop();
        }
    }
    put_offset(zone.offset_at(ticks.div_euclid(10_i64.pow(u32::from(digits)))), out);
}

fn put_offset(seconds: i32, out: &mut Vec<u8>) {
    let (sign, size) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    let (hours, minutes, seconds) = (size / 3600, size / 60 % 60, size % 60);
    let mut text = format!("{sign}{hours:02}");
    if minutes > 0 || seconds > 0 {
        text.push_str(&format!(":{minutes:02}"));
    }
    if seconds > 0 {
        text.push_str(&format!(":{seconds:02}"));
    }
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ticks: i64, precision: u8, zone: &str, expected: &str) {
        let mut out = Vec::new();
        put_instant(ticks, precision, Zone::parse(zone).expect("a zone"), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn instants_have_the_offset_of_their_zone() {
        check(0, 0, "UTC", "1970-01-01 00:00:00+00");
        check(1_720_000_000_500, 3, "Europe/Berlin", "2024-07-03 11:46:40.5+02");
        check(1_720_000_000_123_456_789, 9, "Asia/Kolkata", "2024-07-03 15:16:40.123456+05:30");
        check(1_720_000_000, 0, "America/New_York", "2024-07-03 05:46:40-04");
        check(100_000_000, 6, "UTC", "1970-01-01 00:01:40+00");
    }
}
