//! Rows by key: every place from the newest to the oldest, until the key is found.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{concat_batches, interleave};
use basalt_base::{Error, Result, bail, parallel};
use basalt_kv::Found;
use basalt_kv::encoding::{EncodedKeys, RowAssembler, StoredRow};
use basalt_segment::Rank;

use crate::columns::{Picked, SegmentColumns};
use crate::snapshot::Snapshot;

/// Distinct keys that justify another thread.
const THREAD_KEYS_MIN: usize = 1024;
/// Keys whose segments are read together.
const BATCH_KEYS: usize = 4096;

/// A row that was found: its place, by position, and its row among the rows found there.
type FoundRow = (usize, usize);

impl Snapshot {
    /// The columns at `projection` of the rows with `keys`: one array for each key column. A key may occur more than
    /// once. Uses at most `threads` threads.
    pub fn get(&self, keys: &[ArrayRef], projection: &[usize], threads: usize) -> Result<Found> {
        let encoder = self.spec.rows.key_encoder()?;
        if keys.len() != encoder.len() {
            bail!(
                NumberOfColumnsDoesntMatch,
                "the primary key has {} columns, not {}",
                encoder.len(),
                keys.len()
            );
        }
        let encoded = encoder.encode(keys)?;
        let order = sorted(&encoded);
        let parts = parts(&order, threads);
        let batches = |part: &&[Vec<u32>]| {
            let keys: Vec<&[u8]> = part.iter().map(|asked| encoded.get(asked[0] as usize)).collect();
            self.get_part(&keys, part, projection)
        };
        let found = match parts.as_slice() {
            [] => vec![self.get_part(&[], &[], projection)],
            parts => parallel::map(parts.iter(), threads, batches),
        };
        merged(found.into_iter().collect::<Result<_>>()?, encoded.len())
    }

    /// The columns at `projection` of the row with an encoded key; a batch without rows if there is none.
    pub(crate) fn get_one(&self, key: &[u8], projection: &[usize]) -> Result<RecordBatch> {
        Ok(self.get_part(&[key], &[vec![0]], projection)?.rows)
    }

    /// The rows of ascending distinct keys, each with the positions at which it was asked for.
    fn get_part(&self, keys: &[&[u8]], asked: &[Vec<u32>], projection: &[usize]) -> Result<FoundPart> {
        let mut assembler = RowAssembler::new(&self.spec.rows, projection)?;
        let columns = SegmentColumns::new(&self.spec, projection)?;
        let mut search = Search { found: vec![None; keys.len()], left: (0..keys.len()).collect() };
        self.find_fresh(keys, &mut search, &mut assembler)?;
        let mut sources = Vec::new();
        if !assembler.is_empty() {
            sources.push(assembler.finish()?.columns().to_vec());
        }
        for stored in &self.version.segments {
            if search.left.is_empty() {
                break;
            }
            let ranks = search.find_in(stored.segment(), keys, sources.len())?;
            if !ranks.is_empty() {
                sources.push(columns.read(stored.segment(), &Picked::List(&ranks))?);
            }
        }
        let found: Vec<FoundRow> = search.found.iter().flatten().copied().collect();
        let places = asked.iter().zip(&search.found).filter_map(|(asked, found)| found.map(|_| asked));
        let places =
            places.enumerate().flat_map(|(row, asked)| asked.iter().map(move |&at| (at, row as u32)));
        Ok(FoundPart { places: places.collect(), rows: self.assembled(&sources, &found, projection)? })
    }

    fn find_fresh(&self, keys: &[&[u8]], search: &mut Search, assembler: &mut RowAssembler) -> Result<()> {
        let Some(families) = &self.families else { return Ok(()) };
        for generation in &self.generations {
            let asked: Vec<&[u8]> = search.left.iter().map(|&at| keys[at]).collect();
            let mut is_decided = vec![false; asked.len()];
            families.find(generation.family(), &asked, &mut |at, row| {
                is_decided[at] = true;
                if let StoredRow::Row(row) = row {
                    search.found[search.left[at]] = Some((0, assembler.len()));
                    let pushed = assembler.push(asked[at], row);
                    pushed.map_err(|corrupt| self.corrupt_row(corrupt, asked[at]))?;
                }
                Ok(())
            })?;
            let mut decided = is_decided.iter();
            search.left.retain(|_| !decided.next().copied().unwrap_or_default());
        }
        Ok(())
    }

    /// The found rows in order.
    fn assembled(
        &self,
        sources: &[Vec<ArrayRef>],
        found: &[FoundRow],
        projection: &[usize],
    ) -> Result<RecordBatch> {
        let schema = self.spec.rows.columns.project(projection).to_arrow();
        let is_in_order = sources.len() == 1 && found.iter().enumerate().all(|(at, &(_, row))| at == row);
        let column = |at: usize| match sources {
            [] => Ok(arrow::array::new_empty_array(schema.field(at).data_type())),
            [only] if is_in_order => Ok(Arc::clone(&only[at])),
            sources => {
                let arrays: Vec<&dyn arrow::array::Array> =
                    sources.iter().map(|source| source[at].as_ref()).collect();
                interleave(&arrays, found).map_err(Error::of_arrow)
            }
        };
        let columns = (0..projection.len()).map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(found.len()));
        RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options).map_err(Error::of_arrow)
    }
}

/// A search for keys, place by place.
struct Search {
    /// For each key its row, if it was found.
    found: Vec<Option<FoundRow>>,
    /// Positions of the keys that no place has decided yet.
    left: Vec<usize>,
}

impl Search {
    /// Looks up the keys that are left in a segment. Returns the ranks of the rows found, the rows of `source`.
    fn find_in(
        &mut self,
        segment: &basalt_segment::Segment,
        keys: &[&[u8]],
        source: usize,
    ) -> Result<Vec<Rank>> {
        let mut ranks = Vec::new();
        let mut still_left = Vec::new();
        for &at in &self.left {
            match segment.find(keys[at])? {
                None => still_left.push(at),
                Some(rank) if segment.is_tombstone(rank) => {}
                Some(rank) => {
                    self.found[at] = Some((source, ranks.len()));
                    ranks.push(rank);
                }
            }
        }
        segment.check_present()?;
        self.left = still_left;
        Ok(ranks)
    }
}

/// The rows found for a range of sorted keys.
struct FoundPart {
    rows: RecordBatch,
    /// Pairs of a requested key's position and its row.
    places: Vec<(u32, u32)>,
}

/// For each distinct key, in ascending order, the positions at which it is asked for.
fn sorted(keys: &EncodedKeys) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_unstable_by(|&left, &right| {
        keys.get(left as usize).cmp(keys.get(right as usize)).then(left.cmp(&right))
    });
    let same = |left: &u32, right: &u32| keys.get(*left as usize) == keys.get(*right as usize);
    order.chunk_by(same).map(<[u32]>::to_vec).collect()
}

fn parts(order: &[Vec<u32>], threads: usize) -> Vec<&[Vec<u32>]> {
    let count = (order.len() / THREAD_KEYS_MIN).clamp(1, threads.max(1));
    order.chunks(order.len().div_ceil(count).clamp(1, BATCH_KEYS)).collect()
}

fn merged(parts: Vec<FoundPart>, keys: usize) -> Result<Found> {
    let mut row_of_key = vec![None; keys];
    let mut first = 0;
    for part in &parts {
        for &(asked, row) in &part.places {
            row_of_key[asked as usize] = Some(first + row);
        }
        first += part.rows.num_rows() as u32;
    }
    let mut batches: Vec<RecordBatch> = parts.into_iter().map(|part| part.rows).collect();
    let rows = match batches.as_slice() {
        [_] => batches.swap_remove(0),
        [one, ..] => concat_batches(&one.schema(), &batches).map_err(Error::of_arrow)?,
        [] => return Err(Error::logical("a lookup of no part")),
    };
    Ok(Found { rows, row_of_key })
}
