//! `trimLeft`, `trimRight`, `trimBoth`: remove spaces at the ends of strings.
//!
//! Syntax: `trimBoth(s [, characters])`. Removes spaces, or the bytes of the second argument. NULL if an argument is
//! NULL.

use std::sync::Arc;

use basalt_base::{Result, SqlType};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{rows_needed, slice_strings};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static TRIM_LEFT: Definition =
    Definition::new("trimLeft", Arity::Between(1, 2), |call| bind(call, true, false))
        .aliases(&["ltrim"])
        .case_insensitive();

pub(super) static TRIM_RIGHT: Definition =
    Definition::new("trimRight", Arity::Between(1, 2), |call| bind(call, false, true))
        .aliases(&["rtrim"])
        .case_insensitive();

pub(super) static TRIM_BOTH: Definition =
    Definition::new("trimBoth", Arity::Between(1, 2), |call| bind(call, true, true))
        .aliases(&["trim"])
        .case_insensitive();

fn bind(call: &Call<'_>, left: bool, right: bool) -> Result<Bound> {
    (0..call.len()).try_for_each(|index| call.expect_string(index))?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let texts = args[0].bytes()?;
        let characters = args.get(1).map(Operand::bytes).transpose()?;
        Ok(Arc::new(slice_strings(rows_needed(args, rows), |row| {
            let characters = characters.as_ref().map_or(&b" "[..], |characters| characters.get(row));
            Ok(trim(texts.get(row), characters, left, right))
        })?))
    }))
}

fn trim<'a>(mut text: &'a [u8], characters: &[u8], left: bool, right: bool) -> &'a [u8] {
    while let (true, [first, rest @ ..]) = (left, text) {
        if !characters.contains(first) {
            break;
        }
        text = rest;
    }
    while let (true, [rest @ .., last]) = (right, text) {
        if !characters.contains(last) {
            break;
        }
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_given_bytes_go() {
        assert_eq!(trim(b"  a ", b" ", true, true), b"a");
        assert_eq!(trim(b"\ta\n", b" ", true, true), b"\ta\n");
        assert_eq!(trim(b"xxaxx", b"x", true, false), b"axx");
        assert_eq!(trim(b"   ", b" ", true, true), b"");
    }
}
