//! Dates and times as people and programs write them, as `parseDateTimeBestEffort` reads them.
//!
//! The text is read as tokens from left to right: numbers with their separators are a date, a time, a zone offset or a
//! count of seconds since 1970; words are months, days of the week, halves of the day and names of UTC.

use basalt_base::civil::{days_from_civil, is_valid};
use basalt_base::zone::Zone;

const MONTHS: [&[u8; 3]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
const WEEKDAYS: [&[u8; 3]; 7] = [b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"];
const NANOSECONDS: i64 = 1_000_000_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Two-digit years below this are in the third millennium.
const CENTURY_TURN: i64 = 70;
/// How far `MSK` is ahead of UTC.
const MOSCOW_HOURS: i64 = 3;

/// An instant in seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    pub second: i64,
    pub nanosecond: i64,
}

/// The order of day and month in `02/03/2020`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateOrder {
    #[default]
    DayFirst,
    MonthFirst,
}

/// The fields read so far.
#[derive(Default)]
struct Found {
    order: DateOrder,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    clock: Option<i64>,
    nanosecond: i64,
    /// Seconds ahead of UTC; `None` means the zone's own offset.
    offset: Option<i64>,
    /// Whether it is noon or later.
    afternoon: Option<bool>,
    unix: Option<i64>,
}

impl Found {
    fn is_partial_date(&self) -> bool {
        let parts = [self.year.is_some(), self.month.is_some(), self.day.is_some()];
        (parts[1] || parts[2]) && parts.contains(&false)
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The following digits: their value and their number.
    fn number(&mut self) -> Option<(i64, usize)> {
        let start = self.at;
        let mut value = 0_i64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
            self.at += 1;
        }
        (self.at > start).then_some((value, self.at - start))
    }

    /// The following date separator, if a digit comes after it.
    fn separator(&mut self) -> Option<u8> {
        let byte = self.peek().filter(|byte| matches!(byte, b'-' | b'/' | b'.'))?;
        self.text.get(self.at + 1).filter(|next| next.is_ascii_digit())?;
        self.at += 1;
        Some(byte)
    }
}

/// The instant that `text` names; `zone` applies if the text has no zone. `None` if it names none.
pub fn parse_best_effort(text: &[u8], zone: Zone, order: DateOrder) -> Option<Instant> {
    let mut scanner = Scanner { text: text.trim_ascii(), at: 0 };
    let mut found = Found { order, ..Found::default() };
    scanner.peek()?;
    while let Some(byte) = scanner.peek() {
        match byte {
            b'0'..=b'9' => read_number(&mut scanner, &mut found)?,
            b'+' | b'-' if found.clock.is_some() => read_offset(&mut scanner, &mut found)?,
            b' ' | b',' | b'\t' => scanner.at += 1,
            b'-' | b'/' | b'.' if found.is_partial_date() => scanner.at += 1,
            letter if letter.is_ascii_alphabetic() => read_word(&mut scanner, &mut found)?,
            _ => return None,
        }
    }
    finish(&found, zone)
}

fn read_number(scanner: &mut Scanner<'_>, found: &mut Found) -> Option<()> {
    let (value, digits) = scanner.number()?;
    if scanner.peek() == Some(b':') && digits <= 2 {
        return read_clock(scanner, found, value);
    }
    match digits {
        9 | 10 if found.day.is_none() => {
            found.unix = Some(value);
            read_fraction(scanner, found);
        }
        13 | 16 | 19 if found.day.is_none() => {
            let unit = 10_i64.pow(digits as u32 - 10);
            found.unix = Some(value / unit);
            found.nanosecond = value % unit * (NANOSECONDS / unit);
        }
        14 => {
            set_compact_day(found, value / 1_000_000)?;
            set_clock(found, value / 10_000 % 100, value / 100 % 100, value % 100)?;
            read_fraction(scanner, found);
        }
        8 => set_compact_day(found, value)?,
        6 if found.day.is_some() && found.clock.is_none() => {
            set_clock(found, value / 10_000, value / 100 % 100, value % 100)?;
            read_fraction(scanner, found);
        }
        6 => {
            found.year = Some(value / 100);
            found.month = Some(value % 100);
        }
        4 if found.year.is_none() => read_year_first(scanner, found, value)?,
        1 | 2 => read_day_first(scanner, found, value)?,
        _ => return None,
    }
    Some(())
}

/// `20200203`.
fn set_compact_day(found: &mut Found, value: i64) -> Option<()> {
    if found.year.is_some() || found.day.is_some() {
        return None;
    }
    (found.year, found.month, found.day) = (Some(value / 10_000), Some(value / 100 % 100), Some(value % 100));
    Some(())
}

/// `2020-02-03`, `2020/2`, `2020`.
fn read_year_first(scanner: &mut Scanner<'_>, found: &mut Found, year: i64) -> Option<()> {
    found.year = Some(year);
    if found.month.is_some() || scanner.separator().is_none() {
        return Some(());
    }
    found.month = Some(scanner.number()?.0);
    if scanner.separator().is_some() {
        found.day = Some(scanner.number()?.0);
    }
    Some(())
}

/// `3/2/2020`, `3.2.20`, `3 Feb`, or the day after a month's name.
fn read_day_first(scanner: &mut Scanner<'_>, found: &mut Found, value: i64) -> Option<()> {
    if found.day.is_some() {
        // A final two-digit year, or an hour without minutes before `pm`.
        if found.year.is_none() {
            found.year = Some(full_year(value));
        } else if found.clock.is_none() {
            set_clock(found, value, 0, 0)?;
        } else {
            return None;
        }
        return Some(());
    }
    found.day = Some(value);
    if found.month.is_some() || scanner.separator().is_none() {
        return Some(());
    }
    found.month = Some(scanner.number()?.0);
    if scanner.separator().is_some() {
        let (year, digits) = scanner.number()?;
        found.year = Some(match digits {
            2 => full_year(year),
            4 => year,
            _ => return None,
        });
    }
    // Only one of the two numbers can exceed 12.
    if found.month > Some(12) || (found.order == DateOrder::MonthFirst && found.day <= Some(12)) {
        std::mem::swap(&mut found.month, &mut found.day);
    }
    Some(())
}

fn full_year(two_digits: i64) -> i64 {
    two_digits + if two_digits < CENTURY_TURN { 2_000 } else { 1_900 }
}

fn read_clock(scanner: &mut Scanner<'_>, found: &mut Found, hour: i64) -> Option<()> {
    scanner.take(b':');
    let (minute, _) = scanner.number()?;
    let second = if scanner.take(b':') { scanner.number()?.0 } else { 0 };
    set_clock(found, hour, minute, second)?;
    read_fraction(scanner, found);
    Some(())
}

fn set_clock(found: &mut Found, hour: i64, minute: i64, second: i64) -> Option<()> {
    if found.clock.is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    found.clock = Some(hour * HOUR + minute * MINUTE + second);
    Some(())
}

/// `.123`: digits beyond nanoseconds are dropped.
fn read_fraction(scanner: &mut Scanner<'_>, found: &mut Found) {
    if scanner.peek() != Some(b'.') {
        return;
    }
    scanner.at += 1;
    let mut unit = NANOSECONDS;
    while let Some(digit @ b'0'..=b'9') = scanner.peek() {
        unit /= 10;
        found.nanosecond += i64::from(digit - b'0') * unit;
        scanner.at += 1;
    }
}

/// `+03:00`, `-0330`, `+3`.
fn read_offset(scanner: &mut Scanner<'_>, found: &mut Found) -> Option<()> {
    let sign = if scanner.take(b'-') {
        -1
    } else {
        scanner.take(b'+');
        1
    };
    let (value, digits) = scanner.number()?;
    let seconds = match digits {
        1 | 2 if scanner.take(b':') => value * HOUR + scanner.number()?.0 * MINUTE,
        1 | 2 => value * HOUR,
        4 => value / 100 * HOUR + value % 100 * MINUTE,
        _ => return None,
    };
    found.offset = Some(sign * seconds);
    Some(())
}

fn read_word(scanner: &mut Scanner<'_>, found: &mut Found) -> Option<()> {
    let start = scanner.at;
    while scanner.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
        scanner.at += 1;
    }
    let word = scanner.text[start..scanner.at].to_ascii_lowercase();
    let begins = |name: &[u8; 3]| word.starts_with(name);
    match word.as_slice() {
        b"t" => {}
        b"z" | b"utc" | b"gmt" => found.offset = Some(found.offset.unwrap_or(0)),
        b"msk" => found.offset = Some(MOSCOW_HOURS * HOUR),
        b"am" => found.afternoon = Some(false),
        b"pm" => found.afternoon = Some(true),
        _ => {
            if let Some(month) = MONTHS.iter().position(|name| begins(name)) {
                found.month = Some(month as i64 + 1);
            } else if !WEEKDAYS.iter().any(|name| begins(name)) {
                return None;
            }
        }
    }
    Some(())
}

fn finish(found: &Found, zone: Zone) -> Option<Instant> {
    if let Some(second) = found.unix {
        return Some(Instant { second, nanosecond: found.nanosecond });
    }
    let year = i32::try_from(found.year?).ok()?;
    let month = u32::try_from(found.month.unwrap_or(1)).ok()?;
    let day = u32::try_from(found.day.unwrap_or(1)).ok()?;
    if !is_valid(year, month, day) {
        return None;
    }
    let mut clock = found.clock.unwrap_or(0);
    match found.afternoon {
        Some(true) if clock < 12 * HOUR => clock += 12 * HOUR,
        Some(false) if clock >= 12 * HOUR => clock -= 12 * HOUR,
        _ => {}
    }
    let local = i64::from(days_from_civil(year, month, day)) * DAY + clock;
    let second = found.offset.map_or_else(|| zone.from_local(local), |offset| local - offset);
    Some(Instant { second, nanosecond: found.nanosecond })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: i64) {
        let instant = parse_best_effort(text.as_bytes(), Zone::utc(), DateOrder::DayFirst);
        assert_eq!(instant.map(|instant| instant.second), Some(expected), "{text}");
    }

    #[test]
    fn forms_that_clickhouse_reads() {
        let instant = 1_580_702_706;
        check("2020-02-03 04:05:06", instant);
        check("20200203040506", instant);
        check("1580702706", instant);
        check("2020-02-03T04:05:06Z", instant);
        check("2020-02-03T04:05:06+03:00", instant - 3 * HOUR);
        check("3 Feb 2020 4:05", instant - 6);
        check("Feb 3, 2020", 1_580_688_000);
        check("03.02.2020", 1_580_688_000);
        check("02/03/2020 04:05:06", 1_583_121_906);
        check("Sat, 18 Aug 2018 07:22:16 GMT", 1_534_576_936);
        check("10:12 pm 2020-01-01", 1_577_916_720);
        assert_eq!(
            parse_best_effort(b"2020-02-03 04:05:06.5", Zone::utc(), DateOrder::DayFirst)
                .map(|found| found.nanosecond),
            Some(500_000_000)
        );
    }

    #[test]
    fn the_month_comes_first_in_the_us() {
        let second =
            |text: &[u8], order| parse_best_effort(text, Zone::utc(), order).map(|found| found.second);
        let day = second(b"3/2/2020", DateOrder::DayFirst);
        assert_eq!(second(b"2/3/2020", DateOrder::MonthFirst), day);
        assert_eq!(second(b"2020-02-03", DateOrder::MonthFirst), day);
        let thirteenth = second(b"2020-02-13", DateOrder::DayFirst);
        assert_eq!(second(b"13/2/2020", DateOrder::MonthFirst), thirteenth);
        assert_eq!(second(b"2/13/2020", DateOrder::MonthFirst), thirteenth);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "x", "2020-13-01", "2020-02-30", "99999999999999999999", "+", "12:", "2020-02-03 25:00"]
        {
            assert_eq!(parse_best_effort(text.as_bytes(), Zone::utc(), DateOrder::DayFirst), None, "{text}");
        }
    }
}
