//! A step of a conversion, and the settings that nested conversions inherit.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, make_array};
use arrow::buffer::NullBuffer;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};

use crate::FunctionContext;

/// The maximum nesting of types.
const DEPTH_MAX: usize = 64;

/// Code that converts one column; NULLs of the column stay NULL.
pub(super) type Step = Box<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>;

/// The result for text that is not a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scalar) enum OnError {
    Fails,
    /// NULL; the type must have it.
    GivesNull,
    /// The type's default value.
    GivesDefault,
}

/// The settings that the conversion of a nested type inherits.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) context: &'a FunctionContext,
    pub(super) on_error: OnError,
    pub(super) depth: usize,
}

impl<'a> Scope<'a> {
    pub(super) fn deeper(self) -> Result<Scope<'a>> {
        if self.depth >= DEPTH_MAX {
            bail!(TooDeepRecursion, "a type is nested more than {DEPTH_MAX} levels deep");
        }
        Ok(Scope { depth: self.depth + 1, ..self })
    }
}

pub(super) fn impossible(from: &SqlType, to: &SqlType) -> Error {
    Error::new(ErrorCode::CannotConvertType, format!("{from} cannot be converted to {to}"))
}

/// `array` with these NULLs in addition to its own.
pub(in crate::scalar) fn with_nulls(array: &ArrayRef, nulls: Option<&NullBuffer>) -> ArrayRef {
    let nulls = NullBuffer::union(array.nulls(), nulls);
    match array.to_data().into_builder().nulls(nulls).build() {
        Ok(data) => make_array(data),
        // The mask has the length of the array, so it always fits.
        Err(_) => Arc::clone(array),
    }
}
