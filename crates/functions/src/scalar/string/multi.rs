//! `multiMatchAny`, `multiSearchAny`: whether a string matches one of several regular expressions, or contains one of
//! several strings.
//!
//! Syntax: `multiMatchAny(s, [regexp, ...])`, `multiSearchAny(s, [needle, ...])`; 1 or 0 as UInt8. The expressions are
//! those of `match`. As in ClickHouse, an empty string contains no needle, not even an empty one. NULL if an argument
//! is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, ListArray, UInt8Array};
use basalt_base::re2::to_regex_syntax;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use memchr::memmem::Finder;
use regex::bytes::{RegexSet, RegexSetBuilder};

use super::pattern::reason_of;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::pace::Pace;
use crate::scalar::{Arity, Bound, Operand};

/// Needles of a constant array.
const NEEDLES_MAX: usize = 255;
/// The cost of preparing a pattern, in units of inspecting a byte.
const PREPARED_UNITS: usize = 1 << 14;

const REFUSED: &[Refused] = &[Refused::all(0, ErrorCode::IllegalTypeOfArgument)];

pub(super) static MULTI_MATCH_ANY: Definition =
    Definition::new("multiMatchAny", Arity::Exactly(2), |call| bind(call, Patterns::expressions))
        .refuses_fixed_string(REFUSED);

pub(super) static MULTI_SEARCH_ANY: Definition =
    Definition::new("multiSearchAny", Arity::Exactly(2), |call| {
        check_types(call)?;
        let count = match call.constant(1) {
            Some(list) if call.constant(0).is_none() => Lists::of(list)?.strings(0).len(),
            _ => 0,
        };
        if count > NEEDLES_MAX {
            let what = format!("function `multiSearchAny` takes at most {NEEDLES_MAX} needles, got {count}");
            return Err(Error::new(ErrorCode::TooManyArgumentsForFunction, what));
        }
        bind(call, Patterns::needles)
    })
    .refuses_fixed_string(REFUSED);

fn check_types(call: &Call<'_>) -> Result<()> {
    call.expect_string(0)?;
    let is_fit = matches!(call.ty(1), SqlType::Array(element) if *element.full() == SqlType::String);
    if is_fit { Ok(()) } else { Err(call.illegal(1)) }
}

fn bind(call: &Call<'_>, prepare: fn(&[&[u8]]) -> Result<Patterns>) -> Result<Bound> {
    check_types(call)?;
    let constant = call.constant(1).map(|list| prepare(&Lists::of(list)?.strings(0))).transpose()?;
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let texts = args[0].bytes()?;
        let mut pace = Pace::default();
        if let Some(patterns) = &constant {
            let flag = |row| {
                pace.step(texts.get(row).len())?;
                Ok(u8::from(patterns.match_any(texts.get(row))))
            };
            return Ok(Arc::new(UInt8Array::from((0..rows).map(flag).collect::<Result<Vec<_>>>()?)));
        }
        let (lists, nulls) = (Lists::of(&args[1].array)?, nulls_of(args, rows));
        let mut last: Option<(Vec<&[u8]>, Patterns)> = None;
        let mut flags = Vec::with_capacity(rows);
        for row in 0..rows {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                flags.push(0);
                continue;
            }
            let (text, strings) = (texts.get(row), lists.strings(args[1].index(row)));
            pace.step(text.len())?;
            if last.as_ref().is_none_or(|(prepared, _)| *prepared != strings) {
                pace.step(PREPARED_UNITS * strings.len())?;
                let patterns = prepare(&strings)?;
                last = Some((strings, patterns));
            }
            flags.push(u8::from(last.as_ref().is_some_and(|(_, patterns)| patterns.match_any(text))));
        }
        Ok(Arc::new(UInt8Array::from(flags)))
    }))
}

/// Lists of strings.
struct Lists<'a> {
    lists: &'a ListArray,
    strings: &'a BinaryViewArray,
}

impl<'a> Lists<'a> {
    fn of(array: &'a ArrayRef) -> Result<Lists<'a>> {
        let lists = array.as_list_opt::<i32>();
        let found =
            lists.and_then(|lists| Some(Lists { lists, strings: lists.values().as_binary_view_opt()? }));
        found.ok_or_else(|| Error::logical(format!("{} does not carry lists of strings", array.data_type())))
    }

    fn strings(&self, row: usize) -> Vec<&'a [u8]> {
        let offsets = self.lists.value_offsets();
        (offsets[row] as usize..offsets[row + 1] as usize).map(|at| self.strings.value(at)).collect()
    }
}

/// Prepared patterns.
enum Patterns {
    Expressions(RegexSet),
    Needles(Vec<Finder<'static>>),
}

impl Patterns {
    fn expressions(patterns: &[&[u8]]) -> Result<Patterns> {
        let wrong = |reason: &str| {
            let what = format!("cannot compile the regular expressions of `multiMatchAny`: {reason}");
            Error::new(ErrorCode::BadArguments, what)
        };
        let translated = patterns.iter().map(|pattern| to_regex_syntax(pattern));
        let translated = translated.collect::<Result<Vec<_>>>().map_err(|error| wrong(error.message()))?;
        let built = RegexSetBuilder::new(translated).dot_matches_new_line(true).build();
        built.map(Patterns::Expressions).map_err(|error| wrong(&reason_of(&error)))
    }

    #[expect(clippy::unnecessary_wraps, reason = "a kind of patterns that is never wrong")]
    fn needles(needles: &[&[u8]]) -> Result<Patterns> {
        Ok(Patterns::Needles(needles.iter().map(|needle| Finder::new(needle).into_owned()).collect()))
    }

    fn match_any(&self, text: &[u8]) -> bool {
        match self {
            Patterns::Expressions(set) => set.is_match(text),
            Patterns::Needles(finders) => {
                !text.is_empty() && finders.iter().any(|finder| finder.find(text).is_some())
            }
        }
    }
}
