//! `translate`, `translateUTF8`: replace letters by letters.
//!
//! Syntax: `translate(s, from, to)`, with constant `from` and `to`. Letter `n` of `from` becomes letter `n` of `to`,
//! or is removed if `to` is shorter; the later of two equal letters in `from` wins. NULL if an argument is NULL.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{ErrorCode, Result, SqlType, bail};

use super::map::bind_same_length;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::operand::{build_strings, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static TRANSLATE: Definition = Definition::new("translate", Arity::Exactly(3), |call| {
    let (from, to) = letters(call)?;
    if !from.is_ascii() || !to.is_ascii() {
        bail!(BadArguments, "`translate` takes ASCII letters; `translateUTF8` takes any");
    }
    let mut table: [Option<u8>; 256] = std::array::from_fn(|byte| Some(byte as u8));
    for (at, byte) in from.bytes().enumerate() {
        table[usize::from(byte)] = to.as_bytes().get(at).copied();
    }
    if matches!(call.ty(0), SqlType::FixedString(_)) && from.len() != to.len() {
        bail!(BadArguments, "`translate` of a FixedString takes as many letters as it replaces");
    }
    bind_same_length(call, move |text, out| {
        out.extend(text.iter().filter_map(|&byte| table[usize::from(byte)]));
    })
});

pub(super) static TRANSLATE_UTF8: Definition = Definition::new("translateUTF8", Arity::Exactly(3), |call| {
    let (from, to) = letters(call)?;
    let mut others = to.chars();
    let table: HashMap<char, Option<char>> = from.chars().map(|letter| (letter, others.next())).collect();
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let texts = args[0].bytes()?;
        Ok(Arc::new(build_strings(rows_needed(args, rows), |row, out| {
            for chunk in texts.get(row).utf8_chunks() {
                for letter in chunk.valid().chars() {
                    if let Some(letter) = table.get(&letter).copied().unwrap_or(Some(letter)) {
                        out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
                out.extend_from_slice(chunk.invalid());
            }
            Ok(())
        })?))
    }))
})
.refuses_fixed_string(&[Refused::all(0, ErrorCode::BadArguments)]);

/// The two sets of letters.
fn letters<'a>(call: &Call<'a>) -> Result<(&'a str, &'a str)> {
    call.expect_string(0)?;
    let (from, to) = (call.expect_text(1)?, call.expect_text(2)?);
    let (has, most) = (to.chars().count(), from.chars().count());
    if has > most {
        bail!(
            BadArguments,
            "the third argument of `{}` has {has} letters, the second only {most}",
            call.name
        );
    }
    Ok((from, to))
}
