//! LowCardinality: a dictionary of the block's distinct values, and for each row a position in it.
//!
//! # Layout
//!
//! In front of the column: a version u64, 1. The values: flags u64, the number of keys u64, the keys as values of the
//! type without Nullable, the number of rows u64, the positions. The low byte of the flags tells how many bytes a
//! position has: 0, 1, 2, 3 for one, two, four, eight. Key 0 is the default; of a nullable type, key 0 is NULL and
//! key 1 the default.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::take;
use basalt_base::string_views::gather;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use hashbrown::HashMap;

use super::column_read::read_values;
use super::source::Source;
use crate::binary::{fixed_of_array, fixed_width, write_string};

/// The version: the block has all keys.
const SHARED_DICTIONARIES_WITH_ADDITIONAL_KEYS: u64 = 1;

/// Flag: positions refer to keys of earlier blocks, which only files of tables have.
const NEED_GLOBAL_DICTIONARY: u64 = 1 << 8;
/// Flag: the block has keys.
const HAS_ADDITIONAL_KEYS: u64 = 1 << 9;
/// Flag: the dictionary is that of this block only.
const NEED_UPDATE_DICTIONARY: u64 = 1 << 10;

/// The type of a key, and whether the column has NULL.
fn key_type(inner: &SqlType) -> (&SqlType, bool) {
    match inner {
        SqlType::Nullable(plain) => (plain, true),
        plain => (plain, false),
    }
}

pub(super) fn write_version(out: &mut Vec<u8>) {
    out.extend_from_slice(&SHARED_DICTIONARIES_WITH_ADDITIONAL_KEYS.to_le_bytes());
}

pub(super) fn read_version(source: &mut Source<'_>) -> Result<()> {
    match source.number()? {
        SHARED_DICTIONARIES_WITH_ADDITIONAL_KEYS => Ok(()),
        other => Err(refused(format!("version {other} of LowCardinality is unknown"))),
    }
}

fn refused(what: String) -> Error {
    Error::new(ErrorCode::IncorrectData, what)
}

/// Writes the values of `array`, which carries `inner`.
pub(super) fn write(inner: &SqlType, array: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    let (plain, is_nullable) = key_type(inner);
    let nulls = array.nulls().filter(|_| is_nullable);
    if *plain == SqlType::String {
        let strings = array.as_binary_view();
        let keys = Keys::of_rows(b"", array.len(), nulls, |row| strings.value(row));
        keys.write(is_nullable, write_string, out);
        return Ok(());
    }
    let Some(width) = fixed_width(plain) else {
        return Err(Error::not_implemented(format!("writing LowCardinality({inner})")));
    };
    let (zero, values) = (vec![0; width], fixed_of_array(plain, array.as_ref()));
    let keys = Keys::of_rows(&zero, array.len(), nulls, |row| &values[row * width..][..width]);
    keys.write(is_nullable, |key, out| out.extend_from_slice(key), out);
    Ok(())
}

/// The distinct values of a column in the order of their first rows, the default before them, and for each row the
/// position of its value; `None` for NULL.
struct Keys<'a> {
    in_order: Vec<&'a [u8]>,
    positions: Vec<Option<u32>>,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a batch has fewer rows than u32 counts; sizes fit the count"
)]
impl<'a> Keys<'a> {
    fn of_rows(
        default: &'a [u8],
        rows: usize,
        nulls: Option<&NullBuffer>,
        value: impl Fn(usize) -> &'a [u8],
    ) -> Keys<'a> {
        let mut keys = Keys { in_order: vec![default], positions: Vec::with_capacity(rows) };
        let mut known: HashMap<&[u8], u32> = HashMap::from([(default, 0)]);
        for row in 0..rows {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                keys.positions.push(None);
                continue;
            }
            let position = *known.entry(value(row)).or_insert_with_key(|key| {
                keys.in_order.push(key);
                keys.in_order.len() as u32 - 1
            });
            keys.positions.push(Some(position));
        }
        keys
    }

    fn write(&self, is_nullable: bool, write_key: impl Fn(&[u8], &mut Vec<u8>), out: &mut Vec<u8>) {
        // NULL is a key of its own, with the bytes of the default.
        let before = u32::from(is_nullable);
        let count = self.in_order.len() + before as usize;
        let size = match count {
            0..=0xff => 0,
            0x100..=0xffff => 1,
            _ => 2,
        };
        let flags = size | HAS_ADDITIONAL_KEYS | NEED_UPDATE_DICTIONARY;
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&(count as u64).to_le_bytes());
        if is_nullable {
            write_key(self.in_order[0], out);
        }
        self.in_order.iter().for_each(|key| write_key(key, out));
        out.extend_from_slice(&(self.positions.len() as u64).to_le_bytes());
        let positions = self.positions.iter().map(|position| position.map_or(0, |key| key + before));
        match size {
            0 => out.extend(positions.map(|position| position as u8)),
            1 => out.extend(positions.flat_map(|position| (position as u16).to_le_bytes())),
            _ => out.extend(positions.flat_map(u32::to_le_bytes)),
        }
    }
}

/// Reads `rows` values, at least one, of LowCardinality of `inner`.
pub(super) fn read(inner: &SqlType, rows: usize, source: &mut Source<'_>) -> Result<ArrayRef> {
    let (plain, is_nullable) = key_type(inner);
    if *plain != SqlType::String && fixed_width(plain).is_none() {
        return Err(Error::not_implemented(format!("reading LowCardinality({inner})")));
    }
    let flags = source.number()?;
    if flags & NEED_GLOBAL_DICTIONARY != 0 || flags & HAS_ADDITIONAL_KEYS == 0 {
        return Err(refused("a dictionary of LowCardinality is not part of its block".to_owned()));
    }
    let position_bytes = match flags & 0xff {
        size @ 0..=3 => 1 << size,
        other => return Err(refused(format!("positions in LowCardinality have the unknown size {other}"))),
    };
    let key_count = source.number()?;
    let Ok(key_count) = u32::try_from(key_count) else {
        return Err(refused(format!("LowCardinality has {key_count} keys")));
    };
    let keys = read_values(plain, key_count as usize, None, source)?;
    let found = source.number()?;
    if found != rows as u64 {
        return Err(refused(format!("LowCardinality has {found} rows, expected {rows}")));
    }
    let raw = source.bytes(rows, position_bytes)?;
    // Values and positions are larger in memory than in the block.
    source.charge_all(rows, size_of::<u32>() + plain.fixed_bytes().unwrap_or(size_of::<u128>()))?;
    let positions = checked_positions(&raw, position_bytes, key_count)?;
    let nulls =
        is_nullable.then(|| NullBuffer::new(BooleanBuffer::collect_bool(rows, |row| positions[row] != 0)));
    if *plain == SqlType::String {
        return Ok(Arc::new(gather(keys.as_binary_view(), &positions, nulls)));
    }
    let positions = UInt32Array::new(positions.into(), nulls);
    take(&keys, &positions, None).map_err(Error::of_arrow)
}

/// The positions, each less than `key_count`.
fn checked_positions(raw: &[u8], position_bytes: usize, key_count: u32) -> Result<Vec<u32>> {
    let narrow = |positions: &mut dyn Iterator<Item = u64>| -> Option<Vec<u32>> {
        let checked = |position| u32::try_from(position).ok().filter(|&position| position < key_count);
        positions.map(checked).collect()
    };
    let positions = match position_bytes {
        1 => narrow(&mut raw.iter().map(|&position| u64::from(position))),
        2 => narrow(&mut raw.as_chunks().0.iter().map(|bytes| u64::from(u16::from_le_bytes(*bytes)))),
        4 => narrow(&mut raw.as_chunks().0.iter().map(|bytes| u64::from(u32::from_le_bytes(*bytes)))),
        _ => narrow(&mut raw.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes))),
    };
    positions.ok_or_else(|| refused(format!("a position in LowCardinality is beyond its {key_count} keys")))
}
