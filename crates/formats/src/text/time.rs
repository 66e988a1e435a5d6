//! Dates and times as text.
//!
//! Parsing is as lenient as ClickHouse's: `T` or a space between date and time, one-digit months, a zone at the
//! end, `YYYYMMDDhhmmss`, or a number of seconds since 1970. A day that the calendar does not have is an error; a
//! value outside the type's range is clamped to it.

use basalt_base::civil::{civil_from_days, days_from_civil, is_valid};
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result};

use super::number::{parse_integer, unreadable, write_decimal};
use arrow::datatypes::i256;

const SECONDS_PER_DAY: i64 = 86_400;
/// Years have four digits: 0000-01-01 to 9999-12-31; other days are clamped.
const DAYS: std::ops::RangeInclusive<i32> = -719_528..=2_932_896;
/// `DateTime64` counts ticks of at most this many digits.
const MAX_TICK_DIGITS: u8 = 9;

/// Writes `YYYY-MM-DD` from a number of days since 1970-01-01.
pub fn write_date(days: i32, out: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(days.clamp(*DAYS.start(), *DAYS.end()));
    let year = year as u32;
    let mut text = *b"0000-00-00";
    put_two(&mut text, 0, year / 100);
    put_two(&mut text, 2, year % 100);
    put_two(&mut text, 5, month);
    put_two(&mut text, 8, day);
    out.extend_from_slice(&text);
}

/// Writes an instant as local time of the zone, `YYYY-MM-DD hh:mm:ss`.
pub fn write_date_time(utc_seconds: i64, zone: Zone, out: &mut Vec<u8>) {
    let first = i64::from(*DAYS.start()) * SECONDS_PER_DAY;
    let last = i64::from(*DAYS.end()) * SECONDS_PER_DAY + SECONDS_PER_DAY - 1;
    let local = zone.to_local(utc_seconds).clamp(first, last);
    let days = local.div_euclid(SECONDS_PER_DAY);
    let second = local.rem_euclid(SECONDS_PER_DAY) as u32;
    write_date(days as i32, out);
    let mut text = *b" 00:00:00";
    put_two(&mut text, 1, second / 3_600);
    put_two(&mut text, 4, second / 60 % 60);
    put_two(&mut text, 7, second % 60);
    out.extend_from_slice(&text);
}

/// Like [`write_date_time`] with `precision` fractional digits, for ticks of `10^-precision` s.
pub fn write_date_time64(ticks: i64, precision: u8, zone: Zone, out: &mut Vec<u8>) {
    let precision = precision.min(MAX_TICK_DIGITS);
    let ticks_per_second = 10_i64.pow(u32::from(precision));
    write_date_time(ticks.div_euclid(ticks_per_second), zone, out);
    if precision > 0 {
        let mut digits = [b'0'; MAX_TICK_DIGITS as usize];
        let mut fraction = ticks.rem_euclid(ticks_per_second);
        for digit in digits[..usize::from(precision)].iter_mut().rev() {
            *digit += (fraction % 10) as u8;
            fraction /= 10;
        }
        out.push(b'.');
        out.extend_from_slice(&digits[..usize::from(precision)]);
    }
}

/// Writes an instant in UTC, `YYYY-MM-DDThh:mm:ssZ`, for ticks of `10^-precision` s.
pub(super) fn write_iso_time(ticks: i64, precision: u8, out: &mut Vec<u8>) {
    let start = out.len();
    write_date_time64(ticks, precision, Zone::utc(), out);
    if let Some(space) = out[start..].iter().position(|&byte| byte == b' ') {
        out[start + space] = b'T';
    }
    out.push(b'Z');
}

/// Writes the seconds since 1970 of ticks of `10^-precision` s.
pub(super) fn write_unix_time(ticks: i64, precision: u8, out: &mut Vec<u8>) {
    write_decimal(i256::from_i128(ticks.into()), precision, true, out);
}

fn put_two(text: &mut [u8], at: usize, value: u32) {
    text[at] = b'0' + (value / 10) as u8;
    text[at + 1] = b'0' + (value % 10) as u8;
}

/// Parses a date to days since 1970-01-01: `YYYY-MM-DD`, `YYYY-M-D` or `YYYYMMDD`. A date of zeroes is day 0, and
/// February 30 is a day of March.
pub fn parse_date(text: &[u8]) -> Result<i32> {
    let mut scanner = Scanner { text, at: 0, spills: true };
    match scanner.date() {
        Some(days) if scanner.at == text.len() => Ok(days),
        _ => Err(date_error(text)),
    }
}

/// Parses a time to seconds since 1970-01-01 UTC; truncates a fraction of a second.
pub fn parse_date_time(text: &[u8], zone: Zone) -> Result<i64> {
    let (seconds, _) = parse_instant(text, zone, 0)?;
    Ok(seconds)
}

/// Parses a time to ticks of `10^-precision` s since 1970-01-01 UTC; truncates further digits.
pub fn parse_date_time64(text: &[u8], precision: u8, zone: Zone) -> Result<i64> {
    let precision = precision.min(MAX_TICK_DIGITS);
    let (seconds, fraction) = parse_instant(text, zone, precision)?;
    let ticks = seconds.checked_mul(10_i64.pow(u32::from(precision)));
    ticks.and_then(|ticks| ticks.checked_add(fraction)).ok_or_else(|| {
        let shown = String::from_utf8_lossy(text);
        let what = format!("`{shown}` does not fit 64 bits of ticks with {precision} digits");
        Error::new(ErrorCode::DecimalOverflow, what)
    })
}

/// Seconds since 1970-01-01 UTC, and `precision` digits of the fraction.
fn parse_instant(text: &[u8], zone: Zone, precision: u8) -> Result<(i64, i64)> {
    let leading_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let negative = text.first() == Some(&b'-');
    let whole = leading_digits == text.len() && !matches!(leading_digits, 8 | 14);
    let point = text.get(leading_digits) == Some(&b'.') && !matches!(leading_digits, 4 | 14);
    if negative || (leading_digits > 0 && (whole || point)) {
        return parse_timestamp(text, precision).ok_or_else(|| time_error(text));
    }
    let mut scanner = Scanner { text, at: 0, spills: false };
    let instant = scanner.instant(zone, precision, leading_digits == 14);
    match instant {
        Some(instant) if scanner.at == text.len() => Ok(instant),
        _ => Err(time_error(text)),
    }
}

/// Parses `1704164645`, `1704164645.678`, or a whole number of milli-, micro- or nanoseconds, distinguished by its
/// length.
fn parse_timestamp(text: &[u8], precision: u8) -> Option<(i64, i64)> {
    let point = text.iter().position(|&byte| byte == b'.');
    let whole: i64 = parse_integer(&text[..point.unwrap_or(text.len())]).ok()?;
    let Some(point) = point else {
        let digits_below_second = match text.len() {
            13 => 3,
            16 => 6,
            19 => 9,
            _ => return Some((whole, 0)),
        };
        let per_second = 10_i64.pow(digits_below_second);
        let fraction = whole.rem_euclid(per_second) * 10_i64.pow(9 - digits_below_second);
        return Some((whole.div_euclid(per_second), fraction / 10_i64.pow(9 - u32::from(precision))));
    };
    let mut scanner = Scanner { text, at: point + 1, spills: false };
    let fraction = scanner.fraction(precision);
    if scanner.at != text.len() {
        return None;
    }
    let negative = text.first() == Some(&b'-');
    Some((whole, if negative { -fraction } else { fraction }))
}

#[cold]
fn date_error(text: &[u8]) -> Error {
    let error = unreadable(text, "a date; write YYYY-MM-DD");
    Error::new(ErrorCode::CannotParseDate, error.message())
}

#[cold]
fn time_error(text: &[u8]) -> Error {
    let error = unreadable(text, "a time; write YYYY-MM-DD hh:mm:ss or the seconds since 1970");
    Error::new(ErrorCode::CannotParseDatetime, error.message())
}

/// Reads the parts of a date and a time from left to right.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Whether a day after the end of its month, up to the 31st, is a day of the next month.
    spills: bool,
}

impl Scanner<'_> {
    /// A date, optionally with a time of day and a zone.
    fn instant(&mut self, zone: Zone, precision: u8, compact: bool) -> Option<(i64, i64)> {
        let days = if compact { self.compact_date() } else { self.date() }?;
        let (mut second, mut fraction) = (0, 0);
        if compact {
            second = self.exactly_two()? * 3_600 + self.exactly_two()? * 60 + self.exactly_two()?;
        } else if self.skip(|byte| byte == b' ' || byte == b'T') {
            second = self.time_of_day()?;
        }
        if self.skip(|byte| byte == b'.') {
            fraction = self.fraction(precision);
        }
        let local = i64::from(days) * SECONDS_PER_DAY + i64::from(second);
        let seconds = match self.zone_offset()? {
            Some(offset) => local - i64::from(offset),
            None => zone.from_local(local),
        };
        Some((seconds, fraction))
    }

    fn date(&mut self) -> Option<i32> {
        if self.text.len() >= self.at + 8 && self.text[self.at..self.at + 8].iter().all(u8::is_ascii_digit) {
            return self.compact_date();
        }
        let year = self.exactly_two()? * 100 + self.exactly_two()?;
        let separator = |byte: u8| matches!(byte, b'-' | b'/' | b'.' | b':');
        let month = self.skip(separator).then(|| self.one_or_two())??;
        let day = self.skip(separator).then(|| self.one_or_two())??;
        self.days(year, month, day)
    }

    fn compact_date(&mut self) -> Option<i32> {
        let year = self.exactly_two()? * 100 + self.exactly_two()?;
        let (month, day) = (self.exactly_two()?, self.exactly_two()?);
        self.days(year, month, day)
    }

    fn days(&self, year: u32, month: u32, day: u32) -> Option<i32> {
        match days(year, month, day) {
            None if self.spills && (29..=31).contains(&day) => Some(days(year, month, 28)? + day as i32 - 28),
            days => days,
        }
    }

    /// `h:m` or `h:m:s` in seconds.
    fn time_of_day(&mut self) -> Option<u32> {
        let hour = self.one_or_two()?;
        let minute = self.skip(|byte| byte == b':').then(|| self.one_or_two())??;
        let second = if self.skip(|byte| byte == b':') { self.one_or_two()? } else { 0 };
        (hour < 24 && minute < 60 && second < 60).then_some(hour * 3_600 + minute * 60 + second)
    }

    /// The digits of a fraction, truncated or padded to `precision`.
    fn fraction(&mut self, precision: u8) -> i64 {
        let mut value = 0;
        let mut missing = precision;
        while let Some(digit) = self.digit() {
            if missing > 0 {
                value = value * 10 + i64::from(digit);
                missing -= 1;
            }
        }
        value * 10_i64.pow(u32::from(missing))
    }

    /// `Z`, `+hh`, `+hhmm` or `+hh:mm` in seconds; the outer `None` is an error.
    fn zone_offset(&mut self) -> Option<Option<i32>> {
        let sign = match self.text.get(self.at) {
            Some(b'Z') => {
                self.at += 1;
                return Some(Some(0));
            }
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Some(None),
        };
        self.at += 1;
        let hours = self.exactly_two()?;
        let minutes =
            if self.skip(|byte| byte == b':') || self.at < self.text.len() { self.exactly_two()? } else { 0 };
        (hours < 24 && minutes < 60).then_some(Some(sign * (hours * 3_600 + minutes * 60) as i32))
    }

    fn digit(&mut self) -> Option<u32> {
        let byte = *self.text.get(self.at)?;
        if !byte.is_ascii_digit() {
            return None;
        }
        self.at += 1;
        Some(u32::from(byte - b'0'))
    }

    fn exactly_two(&mut self) -> Option<u32> {
        Some(self.digit()? * 10 + self.digit()?)
    }

    fn one_or_two(&mut self) -> Option<u32> {
        let first = self.digit()?;
        Some(self.digit().map_or(first, |second| first * 10 + second))
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        let found = self.text.get(self.at).is_some_and(|&byte| wanted(byte));
        self.at += usize::from(found);
        found
    }
}

fn days(year: u32, month: u32, day: u32) -> Option<i32> {
    if (year, month, day) == (0, 0, 0) {
        return Some(0);
    }
    let year = year as i32;
    is_valid(year, month, day).then(|| days_from_civil(year, month, day))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<i64> {
        parse_date_time(text.as_bytes(), Zone::utc()).ok()
    }

    #[test]
    fn dates_are_read_leniently() {
        let parse = |text: &str| parse_date(text.as_bytes()).ok();
        for text in ["2024-01-02", "2024-1-2", "20240102", "2024/01/02"] {
            assert_eq!(parse(text), Some(19_724), "{text}");
        }
        assert_eq!(parse("0000-00-00"), Some(0));
        assert_eq!((parse("2024-02-30"), parse("2023-04-31")), (parse("2024-03-01"), parse("2023-05-01")));
        for text in ["2024-13-01", "2024-02-32", "19000", "1", "", "2024-01-02 03:04:05", "2024-01-"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_read_leniently() {
        for text in [
            "2024-01-02 03:04:05",
            "2024-01-02T03:04:05",
            "2024-1-2 3:4:5",
            "2024-01-02 03:04:05.678",
            "2024-01-02T03:04:05Z",
            "2024-01-02T05:04:05+02:00",
            "2024-01-02T01:04:05-02",
            "20240102030405",
            "1704164645",
            "1704164645.5",
        ] {
            assert_eq!(seconds(text), Some(1_704_164_645), "{text}");
        }
        assert_eq!(seconds("2024-01-02"), Some(1_704_153_600));
        assert_eq!(seconds("2024-01-02 03:04"), Some(1_704_164_640));
        assert_eq!(seconds("0"), Some(0));
        for text in ["", "x", "2024-01-02 25:00:00", "2024-01-02 03", "2024-01-02 03:04:05 x", "-"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn fractions_are_cut_or_filled() {
        let parse = |text: &str| parse_date_time64(text.as_bytes(), 3, Zone::utc()).ok();
        assert_eq!(parse("2024-01-02 03:04:05.67899"), Some(1_704_164_645_678));
        assert_eq!(parse("2024-01-02 03:04:05.6Z"), Some(1_704_164_645_600));
        assert_eq!(parse("1704164645.678"), Some(1_704_164_645_678));
        assert_eq!(parse("1704164645678"), Some(1_704_164_645_678));
        assert_eq!(parse("-1.5"), Some(-1_500));
        assert!(parse_date_time64(b"2300-01-01 00:00:00", 9, Zone::utc()).is_err());
    }

    proptest! {
        #[test]
        fn times_round_trip(seconds in -5_000_000_000_i64..9_000_000_000, fraction: u32, precision in 0_u8..=9) {
            let per_second = 10_i64.pow(u32::from(precision));
            let ticks = seconds * per_second + i64::from(fraction) % per_second;
            let mut out = Vec::new();
            write_date_time64(ticks, precision, Zone::utc(), &mut out);
            prop_assert_eq!(parse_date_time64(&out, precision, Zone::utc()).unwrap(), ticks);
        }

        #[test]
        fn no_text_panics(text: Vec<u8>, ticks: i64) {
            let zone = Zone::parse("Europe/Berlin").unwrap();
            let _ = (parse_date(&text), parse_date_time64(&text, 9, zone));
            write_date_time64(ticks, 0, zone, &mut Vec::new());
        }
    }
}
