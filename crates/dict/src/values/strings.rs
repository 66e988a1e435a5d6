//! An attribute of type `String`: its strings are in an arena. Packed strings may be stored once each.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::string_views::StringViews;
use basalt_base::{Error, Result};
use basalt_codec::Tokens;
use hashbrown::HashTable;

use super::arena::{ArenaView, BYTES_AHEAD, ENDS_AHEAD};
use super::fixed::{null_buffer, null_buffer_of, retain_bits, select_bits};
use super::packed::PackedNumbers;
use super::packed_strings::PackedStrings;
use super::row_order::{RowOrder, RowStretch};
use super::string_batch::Asked;
use super::string_packer::choose_tokens;
use super::{Bitmap, StringArena};
use crate::hash::{hash_bytes, scramble, split};
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;

/// Packed strings are stored once each if there are at most this part as many distinct ones as rows.
const CODED_SHARE: usize = 2;
/// Rows in the sample that decides whether strings repeat.
const SAMPLE_ROWS: usize = 1 << 16;

/// An attribute of type `String`.
#[derive(Debug)]
pub(super) struct StringColumn {
    strings: Strings,
    /// The string of each row; `None` if it is the row's number.
    codes: Option<PackedNumbers>,
    valid: Option<Bitmap>,
    default: Vec<u8>,
    default_is_null: bool,
    /// How the strings are to be packed.
    plan: Option<Plan>,
}

/// How strings are packed.
#[derive(Debug)]
enum Plan {
    /// Equal strings are stored once.
    Once,
    /// One string for each row, compressed if there are tokens.
    Each(Option<Box<Tokens>>),
}

#[derive(Debug)]
enum Strings {
    Growing(StringArena),
    /// Packed: no rows can be added.
    Packed(PackedStrings),
}

impl StringColumn {
    /// A column of `default`'s type, or `None` if that is not the carrier of strings.
    pub(super) fn new(default: &ArrayRef) -> Option<StringColumn> {
        (*default.data_type() == DataType::BinaryView).then(|| StringColumn {
            strings: Strings::Growing(StringArena::default()),
            codes: None,
            valid: None,
            default: default.as_binary_view().value(0).to_vec(),
            default_is_null: default.is_null(0),
            plan: None,
        })
    }

    pub(super) fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let arena = self.strings.growing()?;
        if self.valid.is_none() && array.null_count() > 0 {
            let mut valid = Bitmap::default();
            (0..arena.len()).for_each(|_| valid.push(true));
            self.valid = Some(valid);
        }
        arena.push_all(array.as_binary_view());
        if let Some(valid) = &mut self.valid {
            (0..array.len()).for_each(|row| valid.push(array.is_valid(row)));
        }
        Ok(())
    }

    pub(super) fn get(&self, hits: &Hits) -> ArrayRef {
        let nulls = null_buffer(self.valid.as_ref(), self.default_is_null, hits);
        let rows = match &self.codes {
            Some(codes) => &decode(codes, hits),
            None => &hits.payloads,
        };
        let asked = Asked { rows, found: &hits.found, default: &self.default };
        let mut out = StringViews::with_capacity(rows.len());
        match &self.strings {
            Strings::Growing(arena) => arena.view().append(asked, &mut out),
            Strings::Packed(packed) => packed.append(asked, &mut out),
        }
        Arc::new(out.finish(nulls))
    }

    /// As [`StringColumn::get`], for rows in several columns, which are selected by the row's number ([`split_row`]).
    /// `None` if some strings are compressed or stored once.
    pub(super) fn get_of(columns: &[&StringColumn], hits: &Hits) -> Option<ArrayRef> {
        let arenas = columns.iter().map(|column| column.strings.arena().map(StringArena::view));
        let arenas = arenas.collect::<Option<Vec<_>>>()?;
        let StringColumn { default, default_is_null, .. } = columns.first()?;
        let valid: Vec<Option<&Bitmap>> = columns.iter().map(|column| column.valid.as_ref()).collect();
        let mut out = StringViews::with_capacity(hits.payloads.len());
        let asked = Asked { rows: &hits.payloads, found: &hits.found, default };
        ArenaView::append_of(&arenas, asked, &mut out);
        Some(Arc::new(out.finish(null_buffer_of(&valid, *default_is_null, hits))))
    }

    pub(super) fn retain(&mut self, alive: &Bitmap) -> Result<()> {
        self.strings.growing()?.retain(alive);
        self.valid = self.valid.take().map(|valid| retain_bits(&valid, alive));
        Ok(())
    }

    /// Keeps the rows `order`, in that order. Equal strings are stored once if that takes less. No rows can be added
    /// afterwards.
    pub(super) fn pack(&mut self, order: &RowOrder<'_>) -> Result<()> {
        if let Some(valid) = self.valid.take() {
            self.valid = Some(select_bits(&valid, order.list()?));
        }
        // The packed strings take its memory, so it is freed piece by piece.
        let arena = std::mem::take(self.strings.growing()?);
        let packed = match self.plan.take().unwrap_or_else(|| Plan::of(&arena)) {
            Plan::Each(tokens) => PackedStrings::new(arena, order.stretches(), tokens.map(|tokens| *tokens))?,
            Plan::Once => match Distinct::of(&arena, order.list()?, order.len() / CODED_SHARE) {
                Some(Distinct { codes, firsts }) => {
                    let codes = || codes.iter().map(|&code| u64::from(code));
                    self.codes =
                        Some(PackedNumbers::new(&DataType::UInt32, size_of::<u32>(), order.len(), codes)?);
                    let tokens = choose_tokens(&arena, Some(&firsts));
                    PackedStrings::new(arena, RowStretch::of_list(&firsts), tokens)?
                }
                None => {
                    let tokens = choose_tokens(&arena, Some(order.list()?));
                    PackedStrings::new(arena, order.stretches(), tokens)?
                }
            },
        };
        self.strings = Strings::Packed(packed);
        Ok(())
    }

    /// Decides how the strings are packed, which does not depend on the order of the rows.
    pub(super) fn plan(&mut self) -> Result<()> {
        self.plan = Some(Plan::of(self.strings.growing()?));
        Ok(())
    }

    /// Compares the checksums of all strings of `hits`.
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
            self.strings.check(string as usize)?;
        }
        Ok(())
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.strings.save(image)?;
        image.flag(self.codes.is_some());
        self.codes.as_ref().map_or(Ok(()), |codes| codes.save(image))?;
        Bitmap::save_optional(self.valid.as_ref(), image)
    }

    /// Opens the column that [`StringColumn::save`] wrote, in place of an empty one.
    pub(super) fn open(self, image: &mut ImageReader<'_>) -> Result<StringColumn> {
        let strings = Strings::open(image)?;
        let codes = if image.flag()? { Some(PackedNumbers::open(image)?) } else { None };
        Ok(StringColumn { strings, codes, valid: Bitmap::open_optional(image)?, ..self })
    }

    pub(super) fn shrink(&mut self) {
        if let Strings::Growing(arena) = &mut self.strings {
            arena.shrink();
        }
        self.valid.iter_mut().for_each(Bitmap::shrink);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.strings.heap_bytes()
            + self.codes.as_ref().map_or(0, PackedNumbers::heap_bytes)
            + self.valid.as_ref().map_or(0, Bitmap::heap_bytes)
    }
}

impl Strings {
    /// The strings, if they are neither compressed nor stored once.
    fn arena(&self) -> Option<&StringArena> {
        match self {
            Strings::Growing(arena) => Some(arena),
            Strings::Packed(_) => None,
        }
    }

    fn growing(&mut self) -> Result<&mut StringArena> {
        match self {
            Strings::Growing(arena) => Ok(arena),
            Strings::Packed(_) => Err(Error::logical("packed rows are not changed")),
        }
    }

    fn check(&self, row: usize) -> Result<()> {
        match self {
            Strings::Growing(arena) => arena.check(row),
            Strings::Packed(packed) => packed.check(row),
        }
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.flag(matches!(self, Strings::Packed(_)));
        match self {
            Strings::Growing(arena) => arena.save(image),
            Strings::Packed(packed) => packed.save(image),
        }
    }

    fn open(image: &mut ImageReader<'_>) -> Result<Strings> {
        Ok(match image.flag()? {
            false => Strings::Growing(StringArena::open(image)?),
            true => Strings::Packed(PackedStrings::open(image)?),
        })
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Strings::Growing(arena) => arena.heap_bytes(),
            Strings::Packed(packed) => packed.heap_bytes(),
        }
    }
}

/// The string of each hit; 0 for a miss.
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

impl Plan {
    /// The sample is of all strings.
    fn of(arena: &StringArena) -> Plan {
        let rows = arena.len();
        // Any rows, each at most once.
        let mut sample: Vec<u32> =
            (0..SAMPLE_ROWS.min(rows) as u64).map(|at| split(scramble(at), rows as u64).0 as u32).collect();
        sample.sort_unstable();
        sample.dedup();
        let distinct = Distinct::of(arena, &sample, sample.len());
        let repeated = sample.len() - distinct.map_or(0, |distinct| distinct.firsts.len());
        // About n * n / 2d of n strings that are drawn from d repeat an earlier one.
        let drawn = sample.len() as f64;
        let expected = drawn * drawn / (2.0 * repeated as f64);
        if expected > 2.0 * (rows / CODED_SHARE) as f64 {
            return Plan::Each(choose_tokens(arena, None).map(Box::new));
        }
        Plan::Once
    }
}

/// Equal strings, stored once.
struct Distinct {
    /// The distinct string of each row.
    codes: Vec<u32>,
    /// A row of each distinct string.
    firsts: Vec<u32>,
}

impl Distinct {
    /// The distinct strings of the rows `order`; `None` if there are more than `firsts_max`.
    fn of(arena: &StringArena, order: &[u32], firsts_max: usize) -> Option<Distinct> {
        let arena = arena.view();
        let mut table: HashTable<u32> = HashTable::with_capacity(firsts_max.min(SAMPLE_ROWS));
        let mut distinct = Distinct { codes: Vec::with_capacity(order.len()), firsts: Vec::new() };
        for (index, &row) in order.iter().enumerate() {
            if let Some(&ahead) = order.get(index + ENDS_AHEAD) {
                arena.prefetch_end(ahead as usize);
            }
            if let Some(&ahead) = order.get(index + BYTES_AHEAD) {
                arena.prefetch_bytes(ahead as usize);
            }
            let string = arena.get(row as usize);
            let Distinct { codes, firsts } = &mut distinct;
            let text = |code: u32| arena.get(firsts[code as usize] as usize);
            let is_equal = |&code: &u32| text(code) == string;
            let entry = table.entry(hash_bytes(string), is_equal, |&code| hash_bytes(text(code)));
            let next = firsts.len() as u32;
            let code = *entry.or_insert(next).get();
            if code == next {
                if firsts.len() == firsts_max {
                    return None;
                }
                firsts.push(row);
            }
            codes.push(code);
        }
        Some(distinct)
    }
}
