//! Scans in any order: the rows outside of segments, and the candidates of each segment in pieces, shared by threads.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use arrow::compute::SortOptions;
use arrow::record_batch::RecordBatch;
use basalt_base::Result;
use basalt_kv::ByteRange;
use basalt_segment::search::SearchMemory;
use basalt_succinct::{FreshBatches, RankSet, Snapshot};
use parking_lot::Mutex;

use super::candidates::{Candidates, FoundRows, Ranks, candidates, is_searched, matching};
use super::lookups::LookupSource;
use super::ordered::{OrderedSource, direction};
use super::plan::{RowsPlan, TextSearch};
use super::rows::Rows;
use crate::scan::reach::{Reach, reach};
use crate::scan::source::{BlockIterator, BlockSource, MemorySource, ScanRequest};

/// Rows of a piece: large compared with the cost of preparing a search.
const PIECE_ROWS: usize = 1 << 18;
/// A thread gets about as many pieces.
const PIECES_A_THREAD: usize = 4;
const PIECE_ROWS_MIN: usize = 1 << 13;
/// Rows of a block, and the bytes of their values at most.
const BLOCK_ROWS: usize = 8192;
const BLOCK_BYTES: u64 = 16 << 20;

/// A table at one time, and what a query wants of it.
struct SuccinctSource {
    snapshot: Arc<Snapshot>,
    plan: Arc<RowsPlan>,
    range: ByteRange,
    /// For each segment what the conditions leave.
    candidates: Arc<Vec<Candidates>>,
    dead: Arc<DeadRows>,
    pieces: Arc<Mutex<VecDeque<Piece>>>,
    piece_count: usize,
    /// Whether no condition leaves rows out.
    is_whole: bool,
}

/// For each segment the ranks in the range of the scan that are not rows of the table, once a piece needs them.
struct DeadRows(Vec<OnceLock<Arc<RankSet>>>);

/// A part of a scan.
enum Piece {
    Fresh,
    /// Rows of the segment at this position.
    Segment(usize, Ranks),
}

/// The source for `request` of a table whose key has the columns `key`.
pub(crate) fn succinct_source(
    snapshot: Arc<Snapshot>,
    request: &ScanRequest,
) -> Result<Arc<dyn BlockSource>> {
    let plan = Arc::new(RowsPlan::new(&snapshot, request)?);
    let range = match reach(&snapshot.spec().rows.key, &request.conditions)? {
        Reach::Keys(keys) => return Ok(Arc::new(LookupSource { snapshot, plan, keys })),
        Reach::Range(range) => range.encode(&snapshot.spec().rows.key_encoder()?)?,
    };
    let Some(range) = range else {
        let description = "no key can be in the range".to_owned();
        return Ok(Arc::new(MemorySource { partitions: vec![Vec::new()], description }));
    };
    let found = (0..snapshot.segments().len())
        .map(|at| candidates(&snapshot, at, &range, &request.conditions))
        .collect::<Result<Vec<_>>>()?;
    let is_whole = request.filters.is_empty() && request.conditions.is_empty();
    Ok(Arc::new(SuccinctSource::new(snapshot, plan, range, Arc::new(found), is_whole)))
}

impl SuccinctSource {
    fn new(
        snapshot: Arc<Snapshot>,
        plan: Arc<RowsPlan>,
        range: ByteRange,
        candidates: Arc<Vec<Candidates>>,
        is_whole: bool,
    ) -> SuccinctSource {
        let rows: usize = candidates.iter().flat_map(|found| &found.ranks).map(Ranks::len).sum();
        let wanted = plan.query.threads() * PIECES_A_THREAD;
        let piece_rows = rows.div_ceil(wanted.max(1)).clamp(PIECE_ROWS_MIN, PIECE_ROWS);
        let mut pieces: VecDeque<Piece> = VecDeque::new();
        if snapshot.has_fresh_rows() {
            pieces.push_back(Piece::Fresh);
        }
        for (at, found) in candidates.iter().enumerate() {
            for ranks in &found.ranks {
                let starts = (0..ranks.len()).step_by(piece_rows);
                let part = |start: usize| ranks.part(start, ranks.len().min(start + piece_rows));
                pieces.extend(starts.map(|start| Piece::Segment(at, part(start))));
            }
        }
        let piece_count = pieces.len();
        let pieces = Arc::new(Mutex::new(pieces));
        let dead = Arc::new(DeadRows(candidates.iter().map(|_| OnceLock::new()).collect()));
        SuccinctSource { snapshot, plan, range, candidates, dead, pieces, piece_count, is_whole }
    }
}

impl SuccinctSource {
    /// Whether an index leaves rows out, so that a sort of the others is better than a walk over all keys.
    fn leaves_few_rows(&self) -> bool {
        let is_listed = |found: &Candidates| found.ranks.iter().any(|ranks| matches!(ranks, Ranks::List(_)));
        self.candidates.iter().any(is_listed) || self.plan.search.as_ref().is_some_and(TextSearch::is_indexed)
    }
}

impl BlockSource for SuccinctSource {
    fn partition_count(&self) -> usize {
        self.plan.query.threads().clamp(1, self.piece_count.max(1))
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        Ok(Box::new(Worker {
            snapshot: Arc::clone(&self.snapshot),
            plan: Arc::clone(&self.plan),
            range: self.range.clone(),
            dead: Arc::clone(&self.dead),
            pieces: Arc::clone(&self.pieces),
            current: None,
            memories: HashMap::new(),
        }))
    }

    fn rows_estimate(&self) -> Option<u64> {
        let left = self.candidates.iter().flat_map(|found| &found.ranks).map(Ranks::len).sum::<usize>();
        Some(left as u64 + self.snapshot.fresh_rows_estimate())
    }

    fn rows_exactly(&self) -> Option<u64> {
        let is_known = self.is_whole && !self.snapshot.has_fresh_rows();
        is_known.then(|| self.snapshot.rows_in_segments().ok()).flatten()
    }

    fn in_order(&self, order: &[(usize, SortOptions)]) -> Result<Option<Arc<dyn BlockSource>>> {
        if self.leaves_few_rows() {
            return Ok(None);
        }
        let columns = order.iter().map(|&(column, options)| (self.plan.output[column], options));
        let columns: Vec<_> = columns.collect();
        let Some(direction) = direction(self.snapshot.spec(), &columns) else { return Ok(None) };
        let (snapshot, plan) = (Arc::clone(&self.snapshot), Arc::clone(&self.plan));
        let range = self.range.clone();
        Ok(Some(Arc::new(OrderedSource { snapshot, plan, range, direction, limit: None })))
    }

    fn counts_reads(&self) -> bool {
        true
    }

    fn index_report(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        if self.snapshot.has_fresh_rows() {
            lines.push("Fresh rows: read and filtered".to_owned());
        }
        for (stored, found) in self.snapshot.segments().iter().zip(&*self.candidates) {
            lines.push(format!("Segment {}: {}", stored.number(), found.report.join("; ")));
        }
        Ok(lines)
    }

    fn describe(&self) -> String {
        let segments = self.snapshot.segments().len();
        let rows: usize = self.candidates.iter().flat_map(|found| &found.ranks).map(Ranks::len).sum();
        let mut text = format!("{rows} rows of {segments} segments");
        if self.snapshot.has_fresh_rows() {
            let _ = write!(text, ", about {} fresh rows", self.snapshot.fresh_rows_estimate());
        }
        text + &self.plan.describe(true)
    }
}

/// One thread of a scan.
struct Worker {
    snapshot: Arc<Snapshot>,
    plan: Arc<RowsPlan>,
    range: ByteRange,
    dead: Arc<DeadRows>,
    pieces: Arc<Mutex<VecDeque<Piece>>>,
    current: Option<Current>,
    /// What the searches of each segment have prepared.
    memories: HashMap<usize, SearchMemory>,
}

/// A piece that is being read.
enum Current {
    Fresh(Box<FreshBatches>),
    Segment {
        at: usize,
        /// The rows that are left after the search.
        found: FoundRows,
        done: usize,
        is_searched: bool,
        block_rows: usize,
    },
}

impl Worker {
    /// Begins the next piece; `None` at the end.
    fn begin(&mut self) -> Result<Option<Current>> {
        let Some(piece) = self.pieces.lock().pop_front() else { return Ok(None) };
        let (at, ranks) = match piece {
            Piece::Fresh => {
                let batches = self.snapshot.fresh_batches(&self.range, &self.plan.needed())?;
                return Ok(Some(Current::Fresh(Box::new(batches))));
            }
            Piece::Segment(at, ranks) => (at, ranks),
        };
        let segment = self.snapshot.segments()[at].segment();
        self.plan.query.count_read(ranks.len() as u64, 0)?;
        let dead = self.dead(at)?;
        let memory = self.memories.entry(at).or_default();
        Ok(Some(Current::Segment {
            at,
            done: 0,
            is_searched: is_searched(&self.plan, segment, &ranks),
            found: matching(&self.plan, segment, &ranks, &dead, memory)?,
            block_rows: self.block_rows(at),
        }))
    }

    fn dead(&self, at: usize) -> Result<Arc<RankSet>> {
        if self.range == ByteRange::default() {
            return self.snapshot.dead(at);
        }
        let known = &self.dead.0[at];
        if let Some(known) = known.get() {
            return Ok(Arc::clone(known));
        }
        let dead = self.snapshot.dead_in(at, &self.range)?;
        Ok(Arc::clone(known.get_or_init(|| Arc::new(dead))))
    }

    /// Rows whose values fit into memory.
    fn block_rows(&self, at: usize) -> usize {
        let row_bytes = self.snapshot.segments()[at].row_bytes(&self.plan.spec, &self.plan.needed());
        (BLOCK_BYTES / row_bytes.max(1)).clamp(1, BLOCK_ROWS as u64) as usize
    }

    /// The next block of the current piece; `None` at its end.
    fn block(&self, current: &mut Current) -> Result<Option<RecordBatch>> {
        let plan = &self.plan;
        let rows = match current {
            Current::Fresh(batches) => {
                let Some(batch) = batches.next().transpose()? else { return Ok(None) };
                plan.query.count_read(batch.num_rows() as u64, batch.get_array_memory_size() as u64)?;
                Rows::of_batch(&batch, &plan.needed()).filtered(&plan.filter)?
            }
            Current::Segment { at, found, done, is_searched, block_rows } => {
                if *done == found.ranks.len() {
                    return Ok(None);
                }
                let end = found.ranks.len().min(*done + *block_rows);
                let taken = found.slice(*done, end);
                *done = end;
                let segment = self.snapshot.segments()[*at].segment();
                Rows::of_segment(&plan.spec, segment, taken).filtered(plan.filter_of(*is_searched))?
            }
        };
        let block = rows.finish(&plan.output, &plan.schema)?;
        if matches!(current, Current::Segment { .. }) {
            plan.query.count_read(0, block.get_array_memory_size() as u64)?;
        }
        Ok(Some(block))
    }

    fn next_block(&mut self) -> Result<Option<RecordBatch>> {
        self.plan.query.check()?;
        let mut current = match self.current.take() {
            Some(current) => current,
            None => match self.begin()? {
                Some(current) => current,
                None => return Ok(None),
            },
        };
        match self.block(&mut current)? {
            Some(block) => {
                self.current = Some(current);
                Ok(Some(block))
            }
            // An empty block lets other work run.
            None => Ok(Some(RecordBatch::new_empty(Arc::clone(&self.plan.schema)))),
        }
    }
}

impl Iterator for Worker {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_block().transpose()
    }
}
