//! An attribute of type `String`: its strings in an arena, repeated ones once where it is packed.

use std::sync::Arc;

use arrow::array::builder::BinaryViewBuilder;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::Result;
use hashbrown::HashTable;

use super::fixed::{null_buffer, retain_bits, select_bits};
use super::packed::PackedNumbers;
use super::{Bitmap, StringArena};
use crate::hash::hash_bytes;
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;

/// How many rows ahead of its use a string's end, and then the string itself, is asked for.
const ENDS_AHEAD: usize = 32;
const BYTES_AHEAD: usize = 16;
/// Packed strings are stored once each if there are at most this part as many as rows.
const CODED_SHARE: usize = 2;
/// Rows that say whether strings repeat; they are in order of hash, so any of them will do.
const SAMPLE_ROWS: usize = 1 << 20;

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
        let arena = self.arena.view();
        let rows = match &self.codes {
            Some(codes) => &decode(codes, hits),
            None => &hits.payloads,
        };
        for (index, (&row, &found)) in rows.iter().zip(&hits.found).enumerate() {
            if let Some(&ahead) = rows.get(index + ENDS_AHEAD) {
                arena.prefetch_end(ahead as usize);
            }
            // An empty arena has no row 0 for the misses to point at.
            if let Some(&ahead) = rows.get(index + BYTES_AHEAD).filter(|&&row| row > 0) {
                arena.prefetch_bytes(ahead as usize);
            }
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(index)) {
                strings.append_null();
            } else {
                strings.append_value(if found { arena.get(row as usize) } else { &self.default });
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

    /// Makes sure that what `hits` select is what was written.
    pub(super) fn check(&self, hits: &Hits) -> Result<()> {
        for row in hits.found_payloads() {
            self.valid.as_ref().map_or(Ok(()), |valid| valid.check(row as usize))?;
            let string = match &self.codes {
                Some(codes) => {
                    codes.check(row)?;
                    codes.get(row)
                }
                None => row,
            };
            self.arena.check(string as usize)?;
        }
        Ok(())
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.arena.save(image)?;
        image.flag(self.codes.is_some());
        self.codes.as_ref().map_or(Ok(()), |codes| codes.save(image))?;
        Bitmap::save_optional(self.valid.as_ref(), image)
    }

    /// The column that [`StringColumn::save`] wrote, in the place of one without rows.
    pub(super) fn open(self, image: &mut ImageReader<'_>) -> Result<StringColumn> {
        let arena = StringArena::open(image)?;
        let codes = if image.flag()? { Some(PackedNumbers::open(image)?) } else { None };
        Ok(StringColumn { arena, codes, valid: Bitmap::open_optional(image)?, ..self })
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
        let arena = arena.view();
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
