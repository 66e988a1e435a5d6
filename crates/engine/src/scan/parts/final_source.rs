//! The rows that a merge of all parts would leave, as a source of layers that are merged in parallel.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, AsArray, UInt32Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{SchemaRef, UInt64Type};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Error, Result};
use basalt_parts::{FinalInput, FinalLayer, FinalScan, PartsVersion, ReadMetrics, final_layers};

use super::final_selection::FinalSelection;
use super::part_columns;
use super::rows::{first_place, part_and_row};
use super::slots::{Slot, slot_of};
use crate::scan::VirtualColumn;
use crate::scan::source::{BlockIterator, BlockSource, ScanRequest};

/// Layers for each thread, so that none waits long for another at the end.
const LAYERS_A_THREAD: usize = 4;
/// Fewer granules are not worth a layer: those at its borders are read twice.
const LAYER_GRANULES_MIN: usize = 32;

/// Granules of a snapshot, merged while they are read.
pub(crate) struct FinalSource {
    layers: Arc<Layers>,
    threads: usize,
    description: String,
}

/// State that the threads share.
struct Layers {
    layers: Vec<FinalLayer>,
    /// The first layer that no thread has taken.
    next: AtomicUsize,
    /// The granules to read.
    stored: Vec<usize>,
    output: FinalOutput,
    metrics: Arc<ReadMetrics>,
}

/// The form of the blocks, and what virtual columns need.
struct FinalOutput {
    /// One for each output column.
    slots: Vec<Slot>,
    /// By slot: of a virtual column that is the same in all rows of a part, a row for each part.
    of_parts: Vec<Option<ArrayRef>>,
    /// One for each part of the snapshot.
    granule_rows: Vec<u64>,
    schema: SchemaRef,
}

impl FinalSource {
    pub(crate) fn new(version: &PartsVersion, request: &ScanRequest) -> Result<FinalSource> {
        let selection = FinalSelection::new(version, request)?;
        let FinalSelection { spec, snapshot, .. } = &selection;
        let slots =
            request.columns.iter().map(|&at| slot_of(request, spec, at)).collect::<Result<Vec<_>>>()?;
        let has_places = slots.iter().any(|slot| slot.stored().is_none());
        let threads = threads(request);
        let layer_granules = match threads {
            1 => usize::MAX,
            threads => (selection.marks() / (threads * LAYERS_A_THREAD)).max(LAYER_GRANULES_MIN),
        };
        let mut layers = Vec::new();
        for group in &selection.groups {
            let input = |(index, marks): &(usize, _)| FinalInput {
                part: Arc::clone(&snapshot[*index]),
                marks: Clone::clone(marks),
                first_place: has_places.then(|| first_place(*index)),
            };
            layers.extend(final_layers(group.iter().map(input).collect(), layer_granules)?);
        }
        selection.count(&request.query.events);
        let description = format!("final, {}, layers: {}", selection.describe(), layers.len());
        let schema = Arc::new(request.stored.to_arrow().project(&request.columns).map_err(Error::logical)?);
        let stored = slots.iter().filter_map(|slot| slot.stored()).collect();
        let of_parts = part_columns::of_slots(&slots, snapshot)?;
        let granule_rows = snapshot.iter().map(|part| part_columns::granule_rows(part)).collect();
        let output = FinalOutput { slots, of_parts, granule_rows, schema };
        let metrics = Arc::clone(&request.query.events.reads);
        let threads = threads.min(layers.len()).max(1);
        let layers = Layers { layers, next: AtomicUsize::new(0), stored, output, metrics };
        Ok(FinalSource { layers: Arc::new(layers), threads, description })
    }
}

/// Threads that the query may merge on.
fn threads(request: &ScanRequest) -> usize {
    match request.query.settings.max_final_threads {
        0 => request.query.threads(),
        most => request.query.threads().min(most as usize),
    }
}

/// The blocks of the layers that one thread takes.
struct LayerBlocks {
    layers: Arc<Layers>,
    /// The layer that is being merged.
    scan: Option<FinalScan>,
}

impl LayerBlocks {
    fn next_block(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(scan) = &mut self.scan {
                if let Some(batch) = scan.next() {
                    return self.layers.output.block(&batch?).map(Some);
                }
                self.scan = None;
            }
            let next = self.layers.next.fetch_add(1, Ordering::Relaxed);
            let Some(layer) = self.layers.layers.get(next) else { return Ok(None) };
            self.scan = Some(FinalScan::new(layer, &self.layers.stored, &self.layers.metrics)?);
        }
    }
}

impl Iterator for LayerBlocks {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_block().transpose()
    }
}

impl FinalOutput {
    /// `batch` has the stored columns, then the places of the rows if other columns are wanted.
    fn block(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let places = batch.columns().last().and_then(|places| places.as_primitive_opt::<UInt64Type>());
        let mut stored = batch.columns().iter();
        let column = |(slot, of_parts): (&Slot, &Option<ArrayRef>)| -> Result<ArrayRef> {
            match slot {
                Slot::Stored(_) => {
                    stored.next().cloned().ok_or_else(|| Error::logical("a column is missing"))
                }
                Slot::Virtual(column) => {
                    let places = places.ok_or_else(|| Error::logical("rows without places"))?;
                    match of_parts {
                        Some(values) => of_parts_at(values, places),
                        None => Ok(self.of_rows_at(*column, places)),
                    }
                }
            }
        };
        let columns = self.slots.iter().zip(&self.of_parts).map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(Error::of_arrow)
    }

    /// A virtual column of the rows at `places` themselves.
    fn of_rows_at(&self, column: VirtualColumn, places: &UInt64Array) -> ArrayRef {
        let value = |place: &u64| {
            let (part, row) = part_and_row(*place);
            column.in_row(row, self.granule_rows[part])
        };
        Arc::new(UInt64Array::from_iter_values(places.values().iter().map(value)))
    }
}

/// A virtual column of the parts of the rows at `places`: `values` has a row for each part.
fn of_parts_at(values: &ArrayRef, places: &UInt64Array) -> Result<ArrayRef> {
    let parts = places.values().iter().map(|place| part_and_row(*place).0 as u32);
    take(values, &UInt32Array::from_iter_values(parts), None).map_err(Error::of_arrow)
}

impl BlockSource for FinalSource {
    fn partition_count(&self) -> usize {
        self.threads
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        Ok(Box::new(LayerBlocks { layers: Arc::clone(&self.layers), scan: None }))
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}
