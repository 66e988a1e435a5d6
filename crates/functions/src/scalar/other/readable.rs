//! `formatReadableSize`, `formatReadableDecimalSize`, `formatReadableQuantity`, `formatReadableTimeDelta`:
//! numbers for people.
//!
//! Syntax: `formatReadableSize(bytes)` is `1.18 MiB`; `formatReadableTimeDelta(seconds [, largest])` is
//! `1 hour, 1 minute and 1 second`. NULL if the argument is NULL.

use std::io::Write;
use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::Float64Type;
use basalt_base::{Result, SqlType, bail};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::build_strings;
use crate::scalar::{Arity, Bound, Operand};

pub(super) static FORMAT_READABLE_SIZE: Definition =
    Definition::new("formatReadableSize", Arity::Exactly(1), |call| {
        bind(call, |value, out| write_scaled(value, 1024.0, &BINARY_UNITS, out))
    })
    .aliases(&["FORMAT_BYTES"])
    .case_insensitive();

pub(super) static FORMAT_READABLE_DECIMAL_SIZE: Definition =
    Definition::new("formatReadableDecimalSize", Arity::Exactly(1), |call| {
        bind(call, |value, out| write_scaled(value, 1000.0, &DECIMAL_UNITS, out))
    });

pub(super) static FORMAT_READABLE_QUANTITY: Definition =
    Definition::new("formatReadableQuantity", Arity::Exactly(1), |call| {
        bind(call, |value, out| write_scaled(value, 1000.0, &QUANTITIES, out))
    });

pub(super) static FORMAT_READABLE_TIME_DELTA: Definition =
    Definition::new("formatReadableTimeDelta", Arity::Between(1, 2), bind_time_delta);

const BINARY_UNITS: [&str; 9] = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB", " YiB"];
const DECIMAL_UNITS: [&str; 9] = [" B", " KB", " MB", " GB", " TB", " PB", " EB", " ZB", " YB"];
const QUANTITIES: [&str; 22] = [
    "",
    " thousand",
    " million",
    " billion",
    " trillion",
    " quadrillion",
    " quintillion",
    " sextillion",
    " septillion",
    " octillion",
    " nonillion",
    " decillion",
    " undecillion",
    " duodecillion",
    " tredecillion",
    " quattuordecillion",
    " quindecillion",
    " sexdecillion",
    " septendecillion",
    " octodecillion",
    " novemdecillion",
    " vigintillion",
];

/// Seconds of each unit, the largest first. As in ClickHouse, a year has 365 days and a month 30.5.
const SPANS: [(&str, f64); 6] = [
    ("year", 31_536_000.0),
    ("month", 2_635_200.0),
    ("day", 86_400.0),
    ("hour", 3_600.0),
    ("minute", 60.0),
    ("second", 1.0),
];

/// The largest number up to which floats represent every integer.
const EXACT_MAX: f64 = 9_007_199_254_740_991.0;

fn bind(call: &Call<'_>, write: fn(f64, &mut Vec<u8>)) -> Result<Bound> {
    call.expect_number(0)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], _| {
        let numbers = args[0].numbers::<Float64Type>()?;
        Ok(Arc::new(build_strings(args[0].array.len(), |row, out| {
            write(numbers.get(row), out);
            Ok(())
        })?))
    }))
}

/// Prints two fractional digits and the largest unit that does not exceed the value.
fn write_scaled(mut value: f64, step: f64, units: &[&str], out: &mut Vec<u8>) {
    let mut unit = 0;
    while unit + 1 < units.len() && value.abs() >= step {
        value /= step;
        unit += 1;
    }
    if value.is_finite() {
        // Writing into a vector cannot fail.
        let _ = write!(out, "{value:.2}");
    } else {
        basalt_formats::text::write_float64(value, out);
    }
    out.extend_from_slice(units[unit].as_bytes());
}

fn bind_time_delta(call: &Call<'_>) -> Result<Bound> {
    call.expect_number(0)?;
    let largest = if call.len() == 2 { call.expect_text(1)? } else { "years" };
    let Some(first) = SPANS.iter().position(|(name, _)| largest.strip_suffix('s') == Some(name)) else {
        bail!(BadArguments, "unknown unit `{largest}`: seconds, minutes, hours, days, months or years");
    };
    Ok(Bound::of(SqlType::String, move |args: &[Operand], _| {
        let seconds = args[0].numbers::<Float64Type>()?;
        Ok(Arc::new(build_strings(args[0].array.len(), |row, out| {
            write_time_delta(seconds.get(row), &SPANS[first..], out);
            Ok(())
        })?))
    }))
}

fn write_time_delta(seconds: f64, spans: &[(&str, f64)], out: &mut Vec<u8>) {
    if !seconds.is_finite() {
        basalt_formats::text::write_float64(seconds, out);
        return;
    }
    if seconds < 0.0 {
        out.push(b'-');
    }
    let mut rest = seconds.abs().trunc();
    let mut parts: Vec<String> = Vec::new();
    // A float this large does not represent every second exactly.
    let spans = if rest > EXACT_MAX { &spans[..1] } else { spans };
    for (name, length) in spans {
        let count = (rest / length).trunc();
        rest -= count * length;
        if count > 0.0 || (parts.is_empty() && *name == "second") {
            parts.push(format!("{count} {name}{}", if count == 1.0 { "" } else { "s" }));
        }
    }
    let last = parts.pop().unwrap_or_default();
    if !parts.is_empty() {
        out.extend_from_slice(parts.join(", ").as_bytes());
        out.extend_from_slice(b" and ");
    }
    out.extend_from_slice(last.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn sizes_and_quantities() {
        let size = |value| text(|out| write_scaled(value, 1024.0, &BINARY_UNITS, out));
        assert_eq!(
            [size(1_234_567.0), size(0.0), size(1024.0), size(-2048.0)],
            ["1.18 MiB", "0.00 B", "1.00 KiB", "-2.00 KiB"]
        );
        assert_eq!([size(1e30), size(f64::NAN)], ["827180.61 YiB", "nan B"]);
        let quantity = |value| text(|out| write_scaled(value, 1000.0, &QUANTITIES, out));
        assert_eq!(
            [quantity(1_234_567.0), quantity(999.0), quantity(1e20)],
            ["1.23 million", "999.00", "100.00 quintillion"]
        );
    }

    #[test]
    fn time_deltas() {
        let delta = |seconds| text(|out| write_time_delta(seconds, &SPANS, out));
        assert_eq!([delta(3_661.0), delta(0.0)], ["1 hour, 1 minute and 1 second", "0 seconds"]);
        assert_eq!([delta(1.5), delta(-5.0)], ["1 second", "-5 seconds"]);
        assert_eq!(delta(2_f64.powi(60)), "36558901084 years");
        assert_eq!(delta(1e8), "3 years, 2 months, 1 day, 9 hours, 46 minutes and 40 seconds");
    }
}
