//! `editDistance`, `editDistanceUTF8`: how many insertions, deletions and substitutions make one string another.
//!
//! Syntax: `editDistance(a, b)`; UInt64. The plain form counts bytes, the UTF8 form code points; there, a byte that
//! begins no code point counts as one, and a code point that is cut off is an error. The distance to an empty string
//! is its number of bytes in both forms, as in ClickHouse. Strings longer than 64 KiB are refused. NULL if an argument
//! is NULL.

use std::sync::Arc;

use arrow::array::UInt64Array;
use basalt_base::{ErrorCode, Result, SqlType, bail};

use super::edits::Needle;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::pace::Pace;
use crate::scalar::{Arity, Bound, Operand};

const STRING_BYTES_MAX: usize = 1 << 16;
/// The longest code point.
const CODE_POINT_BYTES_MAX: usize = 4;
/// The units of bytes that begin no code point are these and the byte.
const NO_CODE_POINT: u32 = 1 << 31;
/// The cost of a new needle, in units of inspecting a byte.
const NEEDLE_UNITS: usize = 1 << 8;

const REFUSED: &[Refused] =
    &[Refused::all(0, ErrorCode::IllegalTypeOfArgument), Refused::all(1, ErrorCode::IllegalTypeOfArgument)];

pub(super) static EDIT_DISTANCE: Definition =
    Definition::new("editDistance", Arity::Exactly(2), |call| bind(call, push_bytes))
        .aliases(&["levenshteinDistance"])
        .refuses_fixed_string(REFUSED);

pub(super) static EDIT_DISTANCE_UTF8: Definition =
    Definition::new("editDistanceUTF8", Arity::Exactly(2), |call| bind(call, push_code_points))
        .aliases(&["levenshteinDistanceUTF8"])
        .refuses_fixed_string(REFUSED);

/// Appends the units of a string.
type PushUnits = fn(&[u8], &mut Vec<u32>) -> Result<()>;

fn bind(call: &Call<'_>, push_units: PushUnits) -> Result<Bound> {
    call.expect_string(0)?;
    call.expect_string(1)?;
    let name = call.name;
    // A constant is prepared once.
    let (text_at, needle_at) = if call.constant(0).is_some() { (1, 0) } else { (0, 1) };
    Ok(Bound::of(SqlType::UInt64, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (texts, needles) = (args[text_at].bytes()?, args[needle_at].bytes()?);
        let nulls = nulls_of(args, rows);
        let mut distances =
            Distances { name, push_units, needle: None, units: Vec::new(), pace: Pace::default() };
        let distance = |row| match &nulls {
            Some(nulls) if nulls.is_null(row) => Ok(0),
            _ => distances.between(texts.get(row), needles.get(row)),
        };
        Ok(Arc::new(UInt64Array::from((0..rows).map(distance).collect::<Result<Vec<_>>>()?)))
    }))
}

/// Computes distances row by row.
struct Distances<'a> {
    name: &'static str,
    push_units: PushUnits,
    /// The last string that was prepared.
    needle: Option<(&'a [u8], Needle)>,
    units: Vec<u32>,
    pace: Pace,
}

impl<'a> Distances<'a> {
    fn between(&mut self, text: &[u8], needle: &'a [u8]) -> Result<u64> {
        if text.is_empty() || needle.is_empty() {
            return Ok((text.len() + needle.len()) as u64);
        }
        if text.len().max(needle.len()) > STRING_BYTES_MAX {
            bail!(
                TooLargeStringSize,
                "function `{}` takes strings of at most {STRING_BYTES_MAX} bytes, not {}",
                self.name,
                text.len().max(needle.len())
            );
        }
        if self.needle.as_ref().is_none_or(|(bytes, _)| *bytes != needle) {
            self.pace.step(NEEDLE_UNITS + needle.len())?;
            self.units.clear();
            (self.push_units)(needle, &mut self.units)?;
            self.needle = Some((needle, Needle::new(&self.units)));
        }
        self.units.clear();
        (self.push_units)(text, &mut self.units)?;
        let Some((_, needle)) = &mut self.needle else { return Ok(0) };
        self.pace.step(self.units.len() * needle.words())?;
        Ok(needle.distance(&self.units))
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a form of units that cannot fail")]
fn push_bytes(text: &[u8], units: &mut Vec<u32>) -> Result<()> {
    units.extend(text.iter().copied().map(u32::from));
    Ok(())
}

fn push_code_points(text: &[u8], units: &mut Vec<u32>) -> Result<()> {
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if !(0xc0..0xf8).contains(&first) {
            units.push(if first < 0x80 { first.into() } else { NO_CODE_POINT | u32::from(first) });
            rest = &rest[1..];
            continue;
        }
        let head = &rest[..rest.len().min(CODE_POINT_BYTES_MAX)];
        let Some(character) = head.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()) else {
            bail!(BadArguments, "the bytes from 0x{first:02x} on are no code point of UTF-8");
        };
        units.push(character.into());
        rest = &rest[character.len_utf8()..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_and_bytes_that_begin_none_are_units() {
        let units = |text: &[u8]| {
            let mut units = Vec::new();
            push_code_points(text, &mut units).map(|()| units)
        };
        assert_eq!(units("a\u{e9}\u{1f600}".as_bytes()).unwrap(), [0x61, 0xe9, 0x1f600]);
        assert_eq!(units(b"\x80\xff").unwrap(), [NO_CODE_POINT | 0x80, NO_CODE_POINT | 0xff]);
        for cut in
            [&b"\xc3"[..], b"a\xe4\xb8", b"\xe4\xb8a", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"]
        {
            assert_eq!(units(cut).unwrap_err().code(), ErrorCode::BadArguments);
        }
    }
}
