//! Builds the posting lists of a column in one pass over its strings.
//!
//! Pairs of trigram and block are sorted in memory, spilled as runs and merged at the end. The memory is that of
//! [`PAIRS_MAX`] pairs, one bit for each trigram and a buffer for each of [`RUNS_MAX`] runs, however many rows there
//! are.

use basalt_base::Result;

use super::chunk::CHUNK_BLOCKS;
use super::layout::{BLOCK_BITS_MAX, BLOCK_BITS_MIN, ENCODING, END_BYTES, chunk_blocks};
use super::list::encode_chunk;
use super::query::{Trigram, trigram};
use super::run::{RunWriter, merge};
use crate::file::{PendingComponent, Spool, SpoolPlace};

/// The pairs that are sorted at once.
const PAIRS_MAX: usize = 2 << 20;
/// The runs that are merged at once.
const RUNS_MAX: usize = 32;
/// The bytes of strings that a block should have.
const BLOCK_BYTES: u64 = 32 << 10;
/// Half a trigram is a digit of the radix sort.
const DIGIT_BITS: u32 = 12;
const DIGITS: usize = 1 << DIGIT_BITS;
/// Every trigram.
const TRIGRAMS: usize = 1 << 24;

/// Takes the strings of a column in the order of ranks.
pub struct TrigramBuilder {
    place: SpoolPlace,
    name: String,
    block_bits: u32,
    pairs_max: usize,
    rows: u64,
    raw_bytes: u64,
    /// The trigrams of the current block, and a bit for each of them.
    current: Vec<Trigram>,
    seen: Vec<u64>,
    /// Trigram and block.
    pairs: Vec<(Trigram, u32)>,
    runs: Vec<Spool>,
}

impl TrigramBuilder {
    /// `name` is that of the component. `row_bytes` is the average length of the strings, or a guess: short ones share
    /// large blocks.
    pub fn new(place: SpoolPlace, name: &str, row_bytes: u64) -> TrigramBuilder {
        TrigramBuilder::within(place, name, row_bytes, PAIRS_MAX)
    }

    /// A builder that sorts `pairs_max` pairs at once.
    pub(super) fn within(place: SpoolPlace, name: &str, row_bytes: u64, pairs_max: usize) -> TrigramBuilder {
        let block_bits =
            (BLOCK_BYTES / row_bytes.max(1)).max(1).ilog2().clamp(BLOCK_BITS_MIN, BLOCK_BITS_MAX);
        TrigramBuilder {
            place,
            name: name.to_owned(),
            block_bits,
            pairs_max,
            rows: 0,
            raw_bytes: 0,
            current: Vec::new(),
            seen: vec![0; TRIGRAMS / u64::BITS as usize],
            pairs: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds the string of the next rank; an empty one for a row without a value.
    pub fn push(&mut self, string: &[u8]) -> Result<()> {
        for window in string.windows(3) {
            let trigram = trigram(window);
            let (word, bit) = (trigram as usize / u64::BITS as usize, 1 << (trigram % u64::BITS));
            if self.seen[word] & bit == 0 {
                self.seen[word] |= bit;
                self.current.push(trigram);
            }
        }
        self.rows += 1;
        self.raw_bytes += string.len() as u64;
        match self.rows.is_multiple_of(1 << self.block_bits) {
            true => self.end_block(),
            false => Ok(()),
        }
    }

    /// Gives the trigrams of the rows since the last block to a block of their own.
    fn end_block(&mut self) -> Result<()> {
        // At most `ROWS_MAX` rows come.
        let block = ((self.rows - 1) >> self.block_bits) as u32;
        for &trigram in &self.current {
            self.seen[trigram as usize / u64::BITS as usize] = 0;
        }
        self.pairs.extend(self.current.drain(..).map(|trigram| (trigram, block)));
        basalt_base::query::checkpoint()?;
        match self.pairs.len() >= self.pairs_max {
            true => self.spill(),
            false => Ok(()),
        }
    }

    fn spill(&mut self) -> Result<()> {
        sort_by_trigram(&mut self.pairs);
        let mut run = RunWriter::new(self.place.spool());
        let mut blocks = Vec::new();
        for pairs in self.pairs.chunk_by(|one, other| one.0 == other.0) {
            blocks.clear();
            blocks.extend(pairs.iter().map(|&(_, block)| block));
            run.push(pairs[0].0, &blocks)?;
        }
        self.runs.push(run.finish()?);
        self.pairs.clear();
        if self.runs.len() >= RUNS_MAX {
            let mut merged = RunWriter::new(self.place.spool());
            merge(std::mem::take(&mut self.runs), |trigram, blocks| merged.push(trigram, blocks))?;
            self.runs.push(merged.finish()?);
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<PendingComponent> {
        if !self.current.is_empty() {
            self.end_block()?;
        }
        self.spill()?;
        self.seen = Vec::new();
        self.pairs = Vec::new();
        let blocks = self.rows.div_ceil(1 << self.block_bits) as u32;
        let mut lists = ListWriter::new(&self.place, blocks);
        merge(self.runs, |trigram, blocks| lists.push(trigram, blocks))?;
        let (count, sections) = lists.finish()?;
        let mut component = PendingComponent::new(self.name, ENCODING);
        component.raw_bytes = self.raw_bytes;
        component.number(self.rows);
        component.number(self.block_bits.into());
        component.number(count);
        sections.into_iter().for_each(|section| component.section(section));
        Ok(component)
    }
}

/// Sorts pairs by trigram. Pairs of the same trigram stay in the order of their blocks: a radix sort is stable.
fn sort_by_trigram(pairs: &mut Vec<(Trigram, u32)>) {
    let mut sorted = vec![(0, 0); pairs.len()];
    for shift in [0, DIGIT_BITS] {
        let digit = |trigram: Trigram| (trigram >> shift) as usize & (DIGITS - 1);
        let mut places = vec![0; DIGITS];
        pairs.iter().for_each(|pair| places[digit(pair.0)] += 1);
        let mut start = 0;
        for place in &mut places {
            (*place, start) = (start, start + *place);
        }
        for &pair in &*pairs {
            let place = &mut places[digit(pair.0)];
            sorted[*place] = pair;
            *place += 1;
        }
        std::mem::swap(pairs, &mut sorted);
    }
}

/// Writes posting lists in the order of trigrams.
struct ListWriter {
    trigrams: Spool,
    ends: Spool,
    lists: Spool,
    /// The blocks of the segment.
    blocks: u32,
    count: u64,
    trigram: Option<Trigram>,
    /// The entries of a chunk that is not written yet, and its number.
    entries: Vec<u16>,
    chunk: u16,
    encoded: Vec<u8>,
}

impl ListWriter {
    fn new(place: &SpoolPlace, blocks: u32) -> ListWriter {
        ListWriter {
            trigrams: place.spool(),
            ends: place.spool(),
            lists: place.spool(),
            blocks,
            count: 0,
            trigram: None,
            entries: Vec::new(),
            chunk: 0,
            encoded: Vec::new(),
        }
    }

    fn push(&mut self, trigram: Trigram, blocks: &[u32]) -> Result<()> {
        if self.trigram != Some(trigram) {
            self.end_list()?;
            self.trigram = Some(trigram);
        }
        for &block in blocks {
            let chunk = (block / CHUNK_BLOCKS) as u16;
            if chunk != self.chunk {
                self.end_chunk()?;
                self.chunk = chunk;
            }
            self.entries.push((block % CHUNK_BLOCKS) as u16);
        }
        Ok(())
    }

    fn end_chunk(&mut self) -> Result<()> {
        if !self.entries.is_empty() {
            self.encoded.clear();
            let universe = chunk_blocks(self.chunk, self.blocks);
            encode_chunk(self.chunk, &self.entries, universe, &mut self.encoded);
            self.lists.write(&self.encoded)?;
            self.entries.clear();
        }
        Ok(())
    }

    fn end_list(&mut self) -> Result<()> {
        self.end_chunk()?;
        if let Some(trigram) = self.trigram.take() {
            self.trigrams.write(&trigram.to_be_bytes()[1..])?;
            self.ends.write(&self.lists.len().to_le_bytes()[..END_BYTES])?;
            self.count += 1;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(u64, [Spool; 3])> {
        self.end_list()?;
        Ok((self.count, [self.trigrams, self.ends, self.lists]))
    }
}
