//! Sparse columns: the values that are not the default, and where they are.
//!
//! # Layout
//!
//! For each value a varint: how many defaults are in front of it. A varint with [`END`] set: how many defaults are at
//! the end. Then the values.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::column_read::read_values;
use super::source::Source;
use crate::binary::{check_labels, with_defaults};

/// Marks the last number.
const END: u64 = 1 << 62;

const DEFAULT: u8 = 0;
const SPARSE: u8 = 1;

/// How a column is serialized.
pub(super) enum Kinds {
    Default,
    Sparse,
    /// The elements of a tuple.
    Elements(Vec<Kinds>),
}

impl Kinds {
    /// Reads the kind of a column, which follows a type if it is not the default.
    pub(super) fn read(ty: &SqlType, source: &mut Source<'_>) -> Result<Kinds> {
        let kind = source.byte()?;
        match (kind, ty) {
            (DEFAULT, SqlType::Tuple(elements)) => {
                let kinds = elements.iter().map(|element| Kinds::read(&element.ty, source));
                Ok(Kinds::Elements(kinds.collect::<Result<_>>()?))
            }
            (DEFAULT, _) => Ok(Kinds::Default),
            (SPARSE, SqlType::Nullable(_) | SqlType::LowCardinality(_) | SqlType::Tuple(_))
            | (SPARSE, SqlType::Array(_) | SqlType::Map(..) | SqlType::Nothing)
            | (2.., _) => Err(Error::not_implemented(format!("reading {ty} in serialization {kind}"))),
            (SPARSE, _) => Ok(Kinds::Sparse),
        }
    }
}

pub(super) fn read(ty: &SqlType, rows: usize, source: &mut Source<'_>) -> Result<ArrayRef> {
    // Defaults take memory, but no bytes.
    source.charge_all(rows, ty.fixed_bytes().unwrap_or(size_of::<u128>()))?;
    let (given, count) = read_places(rows, source)?;
    let values = read_values(ty, count, None, source)?;
    // The default of a column is zero, whether that is a label or not.
    let of_default = ty.enum_number();
    let array = with_defaults(&values, of_default.as_ref().unwrap_or(ty), &given)?;
    check_labels(ty, &array)?;
    Ok(array)
}

/// Which rows have a value, and how many.
fn read_places(rows: usize, source: &mut Source<'_>) -> Result<(BooleanBuffer, usize)> {
    let beyond = || Error::new(ErrorCode::IncorrectData, "a sparse column has more rows than its block");
    let mut given = vec![false; rows];
    let (mut at, mut count) = (0_usize, 0);
    loop {
        let number = source.varint()?;
        let defaults = usize::try_from(number & !END).map_err(|_| beyond())?;
        at = at.checked_add(defaults).filter(|&at| at <= rows).ok_or_else(beyond)?;
        if number & END != 0 {
            break;
        }
        *given.get_mut(at).ok_or_else(beyond)? = true;
        (at, count) = (at + 1, count + 1);
    }
    if at != rows {
        let what = format!("a sparse column has {at} rows, expected {rows}");
        return Err(Error::new(ErrorCode::IncorrectData, what));
    }
    Ok((BooleanBuffer::from(given), count))
}
