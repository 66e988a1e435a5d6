//! Byte strings in one arena: all bytes back to back, and where each string ends.

use std::sync::Arc;

use arrow::array::builder::BinaryViewBuilder;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::Result;
use basalt_base::prefetch::prefetch_read;
use hashbrown::HashTable;

use super::Bitmap;
use super::fixed::{null_buffer, retain_bits, select_bits};
use super::packed::PackedNumbers;
use crate::hash::hash_bytes;
use crate::table::Hits;

/// How many rows ahead of its use a string's end, and then the string itself, is asked for.
const ENDS_AHEAD: usize = 32;
const BYTES_AHEAD: usize = 16;
/// Packed strings are stored once each if there are at most this part as many as rows.
const CODED_SHARE: usize = 2;
/// Rows that say whether strings repeat; they are in order of hash, so any of them will do.
const SAMPLE_ROWS: usize = 1 << 20;

/// Strings by row number. Ends are `u32` until the arena outgrows them.
#[derive(Debug, Default)]
pub(crate) struct StringArena {
    bytes: Vec<u8>,
    ends: Ends,
}

#[derive(Debug)]
enum Ends {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl StringArena {
    pub(crate) fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends.get(row - 1) };
        &self.bytes[start..self.ends.get(row)]
    }

    #[inline(always)]
    fn prefetch_end(&self, row: usize) {
        match &self.ends {
            Ends::Narrow(ends) => prefetch_read(ends, row),
            Ends::Wide(ends) => prefetch_read(ends, row),
        }
    }

    #[inline(always)]
    fn prefetch_bytes(&self, row: usize) {
        prefetch_read(&self.bytes, if row == 0 { 0 } else { self.ends.get(row - 1) });
    }

    /// Keeps the rows whose bit is set.
    pub(crate) fn retain(&mut self, alive: &Bitmap) {
        let mut kept = StringArena::default();
        alive.ones().for_each(|row| kept.push(self.get(row)));
        *self = kept;
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        match &mut self.ends {
            Ends::Narrow(ends) => ends.shrink_to_fit(),
            Ends::Wide(ends) => ends.shrink_to_fit(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let ends = match &self.ends {
            Ends::Narrow(ends) => ends.capacity() * size_of::<u32>(),
            Ends::Wide(ends) => ends.capacity() * size_of::<u64>(),
        };
        self.bytes.capacity() + ends
    }
}

impl Default for Ends {
    fn default() -> Ends {
        Ends::Narrow(Vec::new())
    }
}

impl Ends {
    fn push(&mut self, end: usize) {
        match self {
            Ends::Narrow(ends) => match u32::try_from(end) {
                Ok(end) => ends.push(end),
                Err(_) => {
                    let mut wide: Vec<u64> = ends.iter().map(|&end| u64::from(end)).collect();
                    wide.push(end as u64);
                    *self = Ends::Wide(wide);
                }
            },
            Ends::Wide(ends) => ends.push(end as u64),
        }
    }

    #[inline(always)]
    fn get(&self, row: usize) -> usize {
        match self {
            Ends::Narrow(ends) => ends[row] as usize,
            Ends::Wide(ends) => ends[row] as usize,
        }
    }

    fn len(&self) -> usize {
        match self {
            Ends::Narrow(ends) => ends.len(),
            Ends::Wide(ends) => ends.len(),
        }
    }
}

/// An attribute of type `String`.
#[derive(Debug)]
pub(super) struct StringColumn {
    arena: StringArena,
    /// Which string of the arena a row has; `None` where it is the row's number.
    codes: Option<PackedNumbers>,
    valid: Option<Bitmap>,
    default: Vec<u8>,
    default_is_null: bool,
}

impl StringColumn {
    /// A column of `default`'s type, or `None` if that is not the carrier of strings.
    pub(super) fn new(default: &ArrayRef) -> Option<StringColumn> {
        (*default.data_type() == DataType::BinaryView).then(|| StringColumn {
            arena: StringArena::default(),
            codes: None,
            valid: None,
            default: default.as_binary_view().value(0).to_vec(),
            default_is_null: default.is_null(0),
        })
    }

    pub(super) fn push(&mut self, array: &ArrayRef) {
        let before = self.arena.len();
        if self.valid.is_none() && array.null_count() > 0 {
            let mut valid = Bitmap::default();
            (0..before).for_each(|_| valid.push(true));
            self.valid = Some(valid);
        }
        for string in array.as_binary_view() {
            self.arena.push(string.unwrap_or_default());
            if let Some(valid) = &mut self.valid {
                valid.push(string.is_some());
            }
        }
    }

    pub(super) fn get(&self, hits: &Hits) -> ArrayRef {
        let nulls = null_buffer(self.valid.as_ref(), self.default_is_null, hits);
        let mut strings = BinaryViewBuilder::with_capacity(hits.payloads.len());
        let rows = match &self.codes {
            Some(codes) => &decode(codes, hits),
            None => &hits.payloads,
        };
        for (index, (&row, &found)) in rows.iter().zip(&hits.found).enumerate() {
            if let Some(&ahead) = rows.get(index + ENDS_AHEAD) {
                self.arena.prefetch_end(ahead as usize);
            }
            // An empty arena has no row 0 for the misses to point at.
            if let Some(&ahead) = rows.get(index + BYTES_AHEAD).filter(|&&row| row > 0) {
                self.arena.prefetch_bytes(ahead as usize);
            }
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(index)) {
                strings.append_null();
            } else {
                strings.append_value(if found { self.arena.get(row as usize) } else { &self.default });
            }
        }
        Arc::new(strings.finish())
    }

    pub(super) fn retain(&mut self, alive: &Bitmap) {
        self.arena.retain(alive);
        self.valid = self.valid.take().map(|valid| retain_bits(&valid, alive));
    }

    /// Keeps the rows `order`, in that order, and of equal strings one where that takes less. No rows
    /// can be added behind.
    pub(super) fn pack(&mut self, order: &[u32]) -> Result<()> {
        self.valid = self.valid.take().map(|valid| select_bits(&valid, order));
        let mut kept = StringArena::default();
        // A table of all strings is not made where those of some rows hardly repeat.
        let sample = &order[..order.len().min(SAMPLE_ROWS)];
        let seldom = Distinct::of(&self.arena, sample).firsts.len() > sample.len() / 10 * 9;
        let distinct = (!seldom).then(|| Distinct::of(&self.arena, order));
        let distinct = distinct.filter(|distinct| distinct.firsts.len() <= order.len() / CODED_SHARE);
        let Some(distinct) = distinct else {
            order.iter().for_each(|&row| kept.push(self.arena.get(row as usize)));
            self.arena = kept;
            self.arena.shrink();
            return Ok(());
        };
        distinct.firsts.iter().for_each(|&row| kept.push(self.arena.get(row as usize)));
        let codes = || distinct.codes.iter().map(|&code| u64::from(code));
        self.codes = Some(PackedNumbers::new(&DataType::UInt32, size_of::<u32>(), order.len(), codes)?);
        self.arena = kept;
        self.arena.shrink();
        Ok(())
    }

    pub(super) fn shrink(&mut self) {
        self.arena.shrink();
        self.valid.iter_mut().for_each(Bitmap::shrink);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.arena.heap_bytes()
            + self.codes.as_ref().map_or(0, PackedNumbers::heap_bytes)
            + self.valid.as_ref().map_or(0, Bitmap::heap_bytes)
    }
}

/// The string of the arena that each hit has; 0 for a miss.
fn decode(codes: &PackedNumbers, hits: &Hits) -> Vec<u64> {
    let mut rows = Vec::with_capacity(hits.payloads.len());
    for (index, (&row, &found)) in hits.payloads.iter().zip(&hits.found).enumerate() {
        if let Some(&ahead) = hits.payloads.get(index + BYTES_AHEAD) {
            codes.prefetch(ahead);
        }
        rows.push(if found { codes.get(row) } else { 0 });
    }
    rows
}

/// Equal strings as one.
struct Distinct {
    /// Which of the distinct strings each row has.
    codes: Vec<u32>,
    /// A row of each distinct string.
    firsts: Vec<u32>,
}

impl Distinct {
    fn of(arena: &StringArena, order: &[u32]) -> Distinct {
        let mut table: HashTable<u32> = HashTable::new();
        let mut distinct = Distinct { codes: Vec::with_capacity(order.len()), firsts: Vec::new() };
        for &row in order {
            let string = arena.get(row as usize);
            let Distinct { codes, firsts } = &mut distinct;
            let text = |code: u32| arena.get(firsts[code as usize] as usize);
            let is_equal = |&code: &u32| text(code) == string;
            let entry = table.entry(hash_bytes(string), is_equal, |&code| hash_bytes(text(code)));
            let next = firsts.len() as u32;
            let code = *entry.or_insert(next).get();
            if code == next {
                firsts.push(row);
            }
            codes.push(code);
        }
        distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_what_was_pushed() {
        let mut arena = StringArena::default();
        let strings: Vec<Vec<u8>> = (0..100_usize).map(|len| vec![len as u8; len % 7]).collect();
        strings.iter().for_each(|string| arena.push(string));
        assert!(strings.iter().enumerate().all(|(row, string)| arena.get(row) == string));
        let mut alive = Bitmap::zeroes(100);
        (0..100).step_by(2).for_each(|row| alive.set(row));
        arena.retain(&alive);
        assert_eq!((arena.len(), arena.get(3)), (50, strings[6].as_slice()));
    }

    #[test]
    fn ends_widen_when_the_arena_outgrows_them() {
        let mut ends = Ends::default();
        [7, u32::MAX as usize, u32::MAX as usize + 9, 1 << 40].into_iter().for_each(|end| ends.push(end));
        assert_eq!([0, 1, 2, 3].map(|row| ends.get(row)), [7, 0xffff_ffff, 0x1_0000_0008, 1 << 40]);
        assert!(matches!(ends, Ends::Wide(_)));
    }
}
