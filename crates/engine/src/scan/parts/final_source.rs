//! The rows that a merge of all parts would leave, as a source of one partition.

use std::sync::Arc;

use basalt_base::Result;
use basalt_parts::{FinalScan, MarkRanges, Part, Predicate, ReadMetrics, TableParts};

use super::plan::place;
use super::selection::conditions_of;
use crate::query::ProfileEvents;
use crate::scan::{BlockIterator, BlockSource, ScanRequest};

/// Granules of a snapshot, merged while they are read.
pub(crate) struct FinalSource {
    inputs: Vec<(Arc<Part>, MarkRanges)>,
    columns: Vec<usize>,
    metrics: Arc<ReadMetrics>,
    description: String,
}

impl FinalSource {
    /// The conditions of `request` must be such that all rows of a key meet them, or none.
    pub(crate) fn new(parts: &TableParts, request: &ScanRequest) -> Result<FinalSource> {
        let snapshot = parts.snapshot();
        let spec = snapshot.first().map_or_else(|| parts.spec(), |part| Arc::new(part.spec().clone()));
        let columns =
            request.columns.iter().map(|&at| place(request, &spec, at)).collect::<Result<Vec<_>>>()?;
        let conditions = conditions_of(request, &spec)?;
        let mut inputs = Vec::new();
        let (mut marks_selected, mut marks_total) = (0, 0);
        for part in snapshot.iter() {
            let marks = part.prune(&conditions, &Predicate::Any)?;
            marks_selected += marks.selected();
            marks_total += marks.total;
            if marks.selected() > 0 {
                inputs.push((Arc::clone(part), marks));
            }
        }
        let events = &request.query.events;
        ProfileEvents::add(&events.selected_marks, marks_selected as u64);
        ProfileEvents::add(&events.selected_parts, inputs.len() as u64);
        let description = format!(
            "final, parts: {}/{}, granules: {marks_selected}/{marks_total}",
            inputs.len(),
            snapshot.len()
        );
        Ok(FinalSource { inputs, columns, metrics: Arc::clone(&events.reads), description })
    }
}

impl BlockSource for FinalSource {
    fn partition_count(&self) -> usize {
        1
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let rows = FinalScan::new(self.inputs.clone(), &self.columns, &self.metrics)?;
        Ok(Box::new(rows.map(|batch| batch.map_err(Into::into))))
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}
