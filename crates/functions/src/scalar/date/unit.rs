//! Units of time given as strings.

use basalt_base::types::IntervalUnit;
use basalt_base::{Error, ErrorCode, Result};

const UNITS: &[(IntervalUnit, &[&str])] = &[
    (IntervalUnit::Year, &["year", "years", "yy", "yyyy"]),
    (IntervalUnit::Quarter, &["quarter", "quarters", "qq", "q"]),
    (IntervalUnit::Month, &["month", "months", "mm", "m"]),
    (IntervalUnit::Week, &["week", "weeks", "wk", "ww"]),
    (IntervalUnit::Day, &["day", "days", "dd", "d"]),
    (IntervalUnit::Hour, &["hour", "hours", "hh", "h"]),
    (IntervalUnit::Minute, &["minute", "minutes", "mi", "n"]),
    (IntervalUnit::Second, &["second", "seconds", "ss", "s"]),
];

/// The unit called `name`, case-insensitively.
pub(super) fn parse_unit(function: &str, name: &str) -> Result<IntervalUnit> {
    let lower = name.to_ascii_lowercase();
    let found = UNITS.iter().find(|(_, names)| names.contains(&lower.as_str()));
    found.map(|(unit, _)| *unit).ok_or_else(|| {
        Error::new(
            ErrorCode::BadArguments,
            format!("function `{function}` knows no unit `{name}`; units are second to year"),
        )
    })
}

/// The number of fractional digits for a unit below the second.
pub(super) fn fraction_digits(name: &str) -> Option<u8> {
    match name.to_ascii_lowercase().as_str() {
        "millisecond" | "milliseconds" | "ms" => Some(3),
        "microsecond" | "microseconds" | "us" | "u" => Some(6),
        "nanosecond" | "nanoseconds" | "ns" => Some(9),
        _ => None,
    }
}
