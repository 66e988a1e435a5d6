//! `bar`: a bar of block characters.
//!
//! Syntax: `bar(x, min, max [, width])`. The bar for `max` has `width` (80) characters, the bar for `min` is empty;
//! the last character shows eighths. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::datatypes::Float64Type;
use basalt_base::{Result, SqlType, bail};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{build_strings, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

const DEFAULT_WIDTH: f64 = 80.0;
const WIDTH_MAX: f64 = 1000.0;

pub(super) static BAR: Definition = Definition::new("bar", Arity::Between(3, 4), bind);

fn bind(call: &Call<'_>) -> Result<Bound> {
    (0..call.len()).try_for_each(|index| call.expect_number(index))?;
    Ok(Bound::of(SqlType::String, |args: &[Operand], rows| {
        let numbers = args.iter().map(Operand::numbers::<Float64Type>).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(build_strings(rows_needed(args, rows), |row, out| {
            let width = numbers.get(3).map_or(DEFAULT_WIDTH, |widths| widths.get(row));
            if !(1.0..=WIDTH_MAX).contains(&width) {
                bail!(ArgumentOutOfBound, "a bar of width {width}: 1 to {WIDTH_MAX} is possible");
            }
            let (value, least, most) = (numbers[0].get(row), numbers[1].get(row), numbers[2].get(row));
            write_bar(eighths(value, least, most, width), out);
            Ok(())
        })?))
    }))
}

/// The length of a bar in eighths of a character.
fn eighths(value: f64, least: f64, most: f64, width: f64) -> usize {
    if value.is_nan() || value <= least || most <= least {
        return 0;
    }
    let part = ((value - least) / (most - least)).min(1.0);
    (part * width * 8.0) as usize
}

fn write_bar(eighths: usize, out: &mut Vec<u8>) {
    const FULL: char = '\u{2588}';

    let mut buffer = [0; 4];
    for _ in 0..eighths / 8 {
        out.extend_from_slice(FULL.encode_utf8(&mut buffer).as_bytes());
    }
    // Following the full block, each character is an eighth narrower.
    if let Some(narrow) =
        char::from_u32(FULL as u32 + 8 - (eighths % 8) as u32).filter(|_| !eighths.is_multiple_of(8))
    {
        out.extend_from_slice(narrow.encode_utf8(&mut buffer).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_eighths() {
        let bar = |value, least, most, width| {
            let mut out = Vec::new();
            write_bar(eighths(value, least, most, width), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(bar(5.0, 0.0, 10.0, 10.0), "\u{2588}".repeat(5));
        assert_eq!(bar(3.3, 0.0, 10.0, 5.0), "\u{2588}\u{258b}");
        assert_eq!(bar(1.0, 0.0, 8.0, 1.0), "\u{258f}");
        assert_eq!(bar(20.0, 0.0, 10.0, 4.0), "\u{2588}".repeat(4));
        assert_eq!(bar(-1.0, 0.0, 10.0, 5.0), "");
    }
}
