//! `formatDateTime(t, pattern, zone)` and the names of months and days.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder};
use arrow::datatypes::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use basalt_base::civil::{civil_from_days, day_of_year, iso_week, weekday};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::source::{DAY, HOUR, MINUTE, Source, constant_text, first, ticks_per_second};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Starting with Monday.
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// The length of an abbreviated name.
const SHORT: usize = 3;
/// The specifiers of [`Moment::print`]; `%%` is text.
const SPECIFIERS: &str = "aAbcCdDeEfFgGhHiIjklmMnpQrRsSTtuVwWyYz";
/// MySQL's specifiers that ClickHouse knows and refuses.
const REFUSED: &str = "UvxXE";

/// A parsed pattern.
pub(super) struct Pattern {
    tokens: Vec<FormatToken>,
}

enum FormatToken {
    Text(Vec<u8>),
    Specifier(char),
}

impl Pattern {
    pub(super) fn parse(function: &str, pattern: &str) -> Result<Pattern> {
        let mut tokens = Vec::new();
        let mut text = Vec::new();
        let mut letters = pattern.chars();
        while let Some(letter) = letters.next() {
            let specifier = match letter {
                '%' => letters.next(),
                other => {
                    text.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
            };
            match specifier {
                Some('%') => text.push(b'%'),
                Some('n') => text.push(b'\n'),
                Some('t') => text.push(b'\t'),
                Some(refused) if REFUSED.contains(refused) => {
                    return Err(Error::not_implemented(format!("`%{refused}` in `{function}`")));
                }
                Some(known) if SPECIFIERS.contains(known) => {
                    tokens.push(FormatToken::Text(std::mem::take(&mut text)));
                    tokens.push(FormatToken::Specifier(known));
                }
                Some(unknown) => {
                    return Err(Error::new(
                        ErrorCode::BadArguments,
                        format!("`%{unknown}` in the pattern of `{function}` is not known"),
                    ));
                }
                None => {
                    return Err(Error::new(
                        ErrorCode::BadArguments,
                        format!("the pattern of `{function}` ends in `%`; write `%%` for a percent sign"),
                    ));
                }
            }
        }
        tokens.push(FormatToken::Text(text));
        Ok(Pattern { tokens })
    }

    /// The text of every row.
    pub(super) fn print_all(&self, source: Source, times: &ArrayRef) -> ArrayRef {
        let mut builder = BinaryViewBuilder::with_capacity(times.len());
        let mut text = Vec::new();
        for row in 0..times.len() {
            text.clear();
            let moment = Moment::read(source, times, row);
            for token in &self.tokens {
                match token {
                    FormatToken::Text(bytes) => text.extend_from_slice(bytes),
                    FormatToken::Specifier(letter) => moment.print(*letter, &mut text),
                }
            }
            builder.append_value(&text);
        }
        Arc::new(builder.finish())
    }
}

/// A time in fields of calendar and clock.
struct Moment {
    days: i32,
    second_of_day: i64,
    offset: i64,
    /// The fraction of the second, and its number of digits.
    fraction: (i64, u8),
}

impl Moment {
    fn read(source: Source, times: &ArrayRef, row: usize) -> Moment {
        let (second, zone, fraction) = match source {
            Source::Date(_) => {
                return Moment::of_day(i32::from(times.as_primitive::<UInt16Type>().value(row)));
            }
            Source::Date32(_) => return Moment::of_day(times.as_primitive::<Int32Type>().value(row)),
            Source::DateTime(zone) => {
                (i64::from(times.as_primitive::<UInt32Type>().value(row)), zone, (0, 0))
            }
            Source::DateTime64 { precision, zone } => {
                let (tick, ticks) =
                    (times.as_primitive::<Int64Type>().value(row), ticks_per_second(precision));
                (tick.div_euclid(ticks), zone, (tick.rem_euclid(ticks), precision))
            }
        };
        let offset = i64::from(zone.offset_at(second));
        let local = second.saturating_add(offset);
        Moment { days: local.div_euclid(DAY) as i32, second_of_day: local.rem_euclid(DAY), offset, fraction }
    }

    fn of_day(days: i32) -> Moment {
        Moment { days, second_of_day: 0, offset: 0, fraction: (0, 0) }
    }

    fn print(&self, specifier: char, out: &mut Vec<u8>) {
        let mut text = Text(out);
        // Writing into a Vec cannot fail.
        let _ = self.write(specifier, &mut text);
    }

    fn write(&self, specifier: char, out: &mut Text<'_>) -> std::fmt::Result {
        match specifier {
            'k' | 'H' | 'l' | 'I' | 'h' | 'i' | 's' | 'S' | 'p' | 'r' | 'R' | 'T' | 'f' | 'z' => {
                self.write_time(specifier, out)
            }
            _ => self.write_day(specifier, out),
        }
    }

    fn write_day(&self, specifier: char, out: &mut Text<'_>) -> std::fmt::Result {
        let (year, month, day) = civil_from_days(self.days);
        let from_monday = weekday(self.days);
        let month_name = MONTHS[month as usize - 1];
        let day_name = WEEKDAYS[from_monday as usize - 1];
        match specifier {
            'a' => out.write_str(&day_name[..SHORT]),
            'b' => out.write_str(&month_name[..SHORT]),
            'c' | 'm' => write!(out, "{month:02}"),
            'C' => write!(out, "{:02}", year / 100),
            'd' => write!(out, "{day:02}"),
            'D' => write!(out, "{month:02}/{day:02}/{:02}", year % 100),
            'e' => write!(out, "{day}"),
            'F' => write!(out, "{year:04}-{month:02}-{day:02}"),
            'g' => write!(out, "{:02}", iso_week(self.days).0 % 100),
            'G' => write!(out, "{:04}", iso_week(self.days).0),
            'j' => write!(out, "{:03}", day_of_year(self.days)),
            'M' => out.write_str(month_name),
            'Q' => write!(out, "{}", (month - 1) / 3 + 1),
            'u' => write!(out, "{from_monday}"),
            'V' => write!(out, "{:02}", iso_week(self.days).1),
            'w' => write!(out, "{}", from_monday % 7),
            'W' | 'A' => out.write_str(day_name),
            'y' => write!(out, "{:02}", year % 100),
            _ => write!(out, "{year:04}"),
        }
    }

    fn write_time(&self, specifier: char, out: &mut Text<'_>) -> std::fmt::Result {
        let (hour, minute) = (self.second_of_day / HOUR, self.second_of_day % HOUR / MINUTE);
        let second = self.second_of_day % MINUTE;
        let hour12 = (hour + 11) % 12 + 1;
        let half = if hour < 12 { "AM" } else { "PM" };
        match specifier {
            'k' | 'H' => write!(out, "{hour:02}"),
            'l' | 'I' | 'h' => write!(out, "{hour12:02}"),
            'i' => write!(out, "{minute:02}"),
            's' | 'S' => write!(out, "{second:02}"),
            'p' => out.write_str(half),
            'r' => write!(out, "{hour12:02}:{minute:02} {half}"),
            'R' => write!(out, "{hour:02}:{minute:02}"),
            'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
            'z' => {
                let sign = if self.offset < 0 { '-' } else { '+' };
                let minutes = self.offset.abs() / MINUTE;
                write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60)
            }
            _ => {
                let (fraction, digits) = self.fraction;
                let micros = fraction * ticks_per_second(6) / ticks_per_second(digits);
                write!(out, "{micros:06}")
            }
        }
    }
}

/// A writer of formatted text into bytes.
struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

pub(super) static FORMAT_DATE_TIME: Definition =
    Definition::new("formatDateTime", Arity::Between(2, 3), bind_format_date_time)
        .aliases(&["DATE_FORMAT"])
        .case_insensitive();

fn bind_format_date_time(call: &Call<'_>) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, call.args.get(2), call.context)?;
    let pattern = Pattern::parse(call.name, &constant_text(call.name, &call.args[1], "a pattern")?)?;
    Ok(Bound::new(SqlType::String, move |operands: &[Operand], _: usize| {
        Ok(pattern.print_all(source, first(operands)))
    }))
}

/// `monthName(t)`; `dateName('weekday', t)`.
pub(super) static MONTH_NAME: Definition =
    Definition::new("monthName", Arity::Exactly(1), bind_month_name).case_insensitive();

fn bind_month_name(call: &Call<'_>) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, None, call.context)?;
    let pattern = Pattern { tokens: vec![FormatToken::Specifier('M')] };
    Ok(Bound::new(SqlType::String, move |operands: &[Operand], _: usize| {
        Ok(pattern.print_all(source, first(operands)))
    }))
}

/// `dateName('month', t, zone)`: a part as a name or a number.
pub(super) static DATE_NAME: Definition =
    Definition::new("dateName", Arity::Between(2, 3), bind_date_name).case_insensitive();

fn bind_date_name(call: &Call<'_>) -> Result<Bound> {
    let part = constant_text(call.name, &call.args[0], "a part")?.to_ascii_lowercase();
    let specifier = match part.as_str() {
        "year" => 'Y',
        "quarter" => 'Q',
        "month" => 'M',
        "dayofyear" => 'j',
        "day" => 'e',
        "week" => 'V',
        "weekday" => 'W',
        "hour" => 'H',
        "minute" => 'i',
        "second" => 'S',
        _ => {
            return Err(Error::new(
                ErrorCode::BadArguments,
                format!("function `dateName` knows no part `{part}`"),
            ));
        }
    };
    let source = Source::new(call.name, &call.args[1].ty, call.args.get(2), call.context)?;
    let pattern = Pattern { tokens: vec![FormatToken::Specifier(specifier)] };
    let numeric = !matches!(specifier, 'M' | 'W');
    Ok(Bound::new(SqlType::String, move |operands: &[Operand], _: usize| {
        let names = pattern.print_all(source, &operands[1].array);
        Ok(if numeric { without_leading_zeroes(&names) } else { names })
    }))
}

fn without_leading_zeroes(names: &ArrayRef) -> ArrayRef {
    let names = names.as_binary_view();
    let mut builder = BinaryViewBuilder::with_capacity(names.len());
    for name in names.iter().flatten() {
        let zeroes = name.iter().take(name.len().saturating_sub(1)).take_while(|byte| **byte == b'0').count();
        builder.append_value(&name[zeroes..]);
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
    use arrow::array::UInt32Array;
    use basalt_base::zone::Zone;

    use super::*;

    fn check(pattern: &str, second: u32, expected: &str) {
        let times: ArrayRef = Arc::new(UInt32Array::from(vec![second]));
        let pattern = Pattern::parse("formatDateTime", pattern).unwrap();
        let printed = pattern.print_all(Source::DateTime(Zone::utc()), &times);
        assert_eq!(printed.as_binary_view().value(0), expected.as_bytes());
    }

    #[test]
    fn specifiers_print_what_clickhouse_prints() {
        let afternoon = 1_580_738_706;
        check(
            "%Y-%m-%d %H:%i:%S %a %b %c %C %D %e %f",
            afternoon,
            "2020-02-03 14:05:06 Mon Feb 02 20 02/03/20 3 000000",
        );
        check("%F %g %G %h %I %j %k %l %M", afternoon, "2020-02-03 20 2020 02 02 034 14 02 February");
        check(
            "|%p|%Q|%r|%R|%s|%T|%u|%V|%w|%W|%y|%z|%%",
            afternoon,
            "|PM|1|02:05 PM|14:05|06|14:05:06|1|06|1|Monday|20|+0000|%",
        );
        check("%k|%l|%u|%w|%V", 1_580_601_906, "00|12|7|0|05");
    }

    #[test]
    fn unknown_specifiers_are_refused() {
        for pattern in ["%L", "%", "abc%"] {
            assert!(Pattern::parse("formatDateTime", pattern).is_err(), "{pattern}");
        }
    }
}
