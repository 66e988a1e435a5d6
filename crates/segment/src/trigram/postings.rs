//! The posting lists of a column in a file.
//!
//! # Layout
//!
//! ```text
//! numbers    rows | rows of a block as a power of two | count of trigrams
//! trigrams   count x 3 bytes, the first byte of a trigram first; ascending
//! ends       count x 5 bytes, little-endian: where the list of each trigram ends
//! lists      see [`super::list`]
//! ```
//!
//! # Cost
//!
//! Trigrams and ends are resident. A query reads the lists of its trigrams whole and combines them 65,536 blocks at a
//! time as bit maps of 8 KiB.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::{ControlFlow, Range};

use basalt_base::Result;
use basalt_base::region::Section;

use super::chunk::{CHUNK_BLOCKS, Chunk};
use super::layout::{BLOCK_BITS_MAX, BLOCK_BITS_MIN, ENCODING, END_BYTES, chunk_blocks};
use super::list::split_chunk;
use super::query::{Trigram, TrigramQuery};
use crate::file::{Bytes, ComponentReader};
use crate::{Place, ROWS_MAX, Rank};

const TRIGRAM_BYTES: usize = 3;

/// The blocks of rows in which trigrams occur.
#[derive(Debug)]
pub struct Postings {
    place: Place,
    rows: u32,
    block_bits: u32,
    trigrams: Section,
    ends: Section,
    lists: Bytes,
}

/// A query whose lists were read.
enum Part {
    Everything,
    Nothing,
    /// A posting list, and where its next chunk begins.
    List(Vec<u8>, usize),
    All(Vec<Part>),
    Any(Vec<Part>),
}

impl Postings {
    /// Opens the component of a column.
    pub fn open(mut component: ComponentReader<'_>) -> Result<Postings> {
        let place = component.place().clone();
        if component.encoding() != ENCODING {
            return Err(place.corrupt(format!("`{}` is no encoding of trigrams", component.encoding())));
        }
        let out_of_range = |_| place.corrupt("a number is out of range");
        let rows = u32::try_from(component.number_to(ROWS_MAX)?).map_err(out_of_range)?;
        let block_bits = u32::try_from(component.number_to(BLOCK_BITS_MAX.into())?).map_err(out_of_range)?;
        let count = component.number_to(1 << 24)?;
        let trigrams = component.resident_of(count * TRIGRAM_BYTES as u64)?;
        let ends = component.resident_of(count * END_BYTES as u64)?;
        let lists = component.bytes()?;
        component.finish()?;
        let postings = Postings { place, rows, block_bits, trigrams, ends, lists };
        postings.validate()?;
        Ok(postings)
    }

    fn validate(&self) -> Result<()> {
        let (trigrams, _) = self.trigrams.as_chunks::<TRIGRAM_BYTES>();
        let is_sorted = trigrams.is_sorted_by(|one, other| one < other);
        let (ends, _) = self.ends.as_chunks::<END_BYTES>();
        let are_ends = ends.is_sorted_by_key(number_of);
        let last = ends.last().map_or(0, number_of);
        match self.block_bits >= BLOCK_BITS_MIN
            && is_sorted
            && are_ends
            && usize::try_from(last) == Ok(self.lists.len())
        {
            true => Ok(()),
            false => Err(self.place.corrupt("its directory is not in order")),
        }
    }

    /// The rows that have postings.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The bytes that it takes in the file.
    pub fn stored_bytes(&self) -> u64 {
        (self.trigrams.len() + self.ends.len() + self.lists.len()) as u64
    }

    /// Calls `found` with ascending, separate ranges of the ranks in `ranks` whose rows may satisfy `query`. No row
    /// outside of them does.
    pub fn search(
        &self,
        query: &TrigramQuery,
        ranks: Range<Rank>,
        found: &mut dyn FnMut(Range<Rank>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let ranks = ranks.start..ranks.end.min(self.rows);
        if ranks.is_empty() {
            return Ok(());
        }
        let mut part = self.read(query)?;
        let blocks = self.rows.div_ceil(1 << self.block_bits);
        let chunk_of = |rank: Rank| (rank >> self.block_bits) / CHUNK_BLOCKS;
        let mut open: Option<Range<Rank>> = None;
        for chunk in chunk_of(ranks.start)..=chunk_of(ranks.end - 1) {
            basalt_base::query::checkpoint()?;
            let number = u16::try_from(chunk).map_err(|_| self.place.corrupt("it has too many blocks"))?;
            for block in self.evaluate(&mut part, number, blocks)?.blocks() {
                let block = u64::from(chunk * CHUNK_BLOCKS + block);
                let rank = |block: u64| Rank::try_from(block << self.block_bits).unwrap_or(self.rows);
                let rows = rank(block).max(ranks.start)..rank(block + 1).min(ranks.end);
                match &mut open {
                    _ if rows.is_empty() => {}
                    Some(before) if before.end == rows.start => before.end = rows.end,
                    _ => {
                        if let Some(before) = open.replace(rows)
                            && found(before)?.is_break()
                        {
                            return Ok(());
                        }
                    }
                }
            }
        }
        open.map_or(Ok(()), |last| found(last).map(drop))
    }

    fn read(&self, query: &TrigramQuery) -> Result<Part> {
        let parts = |parts: &[TrigramQuery]| parts.iter().map(|part| self.read(part)).collect::<Result<_>>();
        Ok(match query {
            TrigramQuery::Everything => Part::Everything,
            TrigramQuery::Nothing => Part::Nothing,
            TrigramQuery::All(all) => Part::All(parts(all)?),
            TrigramQuery::Any(any) => Part::Any(parts(any)?),
            &TrigramQuery::Has(trigram) => match self.list(trigram)? {
                Some(list) => Part::List(list, 0),
                None => Part::Nothing,
            },
        })
    }

    fn list(&self, trigram: Trigram) -> Result<Option<Vec<u8>>> {
        let (trigrams, _) = self.trigrams.as_chunks::<TRIGRAM_BYTES>();
        let [_, key @ ..] = trigram.to_be_bytes();
        let Ok(index) = trigrams.binary_search(&key) else { return Ok(None) };
        let (ends, _) = self.ends.as_chunks::<END_BYTES>();
        let end = |index: usize| ends.get(index).map_or(0, number_of);
        let start = index.checked_sub(1).map_or(0, end);
        let range = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end(index)).unwrap_or(0);
        Ok(Some(self.lists.read(range, &mut Vec::new())?.to_owned()))
    }

    /// The blocks of a chunk that satisfy `part`. Chunks are asked for in ascending order.
    fn evaluate(&self, part: &mut Part, chunk: u16, blocks: u32) -> Result<Chunk> {
        match part {
            Part::Everything => Ok(Chunk::first(chunk_blocks(chunk, blocks))),
            Part::Nothing => Ok(Chunk::empty()),
            Part::List(list, at) => self.entries(list, at, chunk, blocks),
            Part::All(parts) => {
                let mut all = Chunk::first(chunk_blocks(chunk, blocks));
                for part in parts {
                    if all.is_empty() {
                        break;
                    }
                    all.and(&self.evaluate(part, chunk, blocks)?);
                }
                Ok(all)
            }
            Part::Any(parts) => {
                let mut any = Chunk::empty();
                for part in parts {
                    any.or(&self.evaluate(part, chunk, blocks)?);
                }
                Ok(any)
            }
        }
    }

    /// The entries of chunk `number` of a list.
    fn entries(&self, list: &[u8], at: &mut usize, number: u16, blocks: u32) -> Result<Chunk> {
        let corrupt = || self.place.corrupt("a posting list means nothing");
        let mut found = Chunk::empty();
        while *at < list.len() {
            let rest = &list[*at..];
            let (chunk, after) =
                split_chunk(rest, |number| chunk_blocks(number, blocks)).ok_or_else(corrupt)?;
            if chunk.number > number {
                break;
            }
            if chunk.number == number {
                chunk.add_to(&mut found).ok_or_else(corrupt)?;
            }
            *at += rest.len() - after.len();
        }
        Ok(found)
    }
}

fn number_of(bytes: &[u8; END_BYTES]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << u8::BITS | u64::from(byte))
}
