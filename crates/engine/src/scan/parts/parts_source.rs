//! The parts of a MergeTree table as a source of blocks.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use arrow::array::UInt64Array;
use arrow::compute::SortOptions;
use arrow::record_batch::RecordBatch;
use basalt_base::{Error, Result};
use basalt_exec::error::from_datafusion;
use basalt_parts::PartsVersion;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;

use super::caches::TableCaches;
use super::mode::Mode;
use super::plan::ScanPlan;
use super::row_count::row_count;
use super::selection::Selection;
use super::tasks::{TASK_BYTES, TaskQueues, tasks_of};
use super::worker::Worker;
use super::{coding, index_report, key_order, rows};
use crate::context::ProfileEvents;
use crate::scan::coded_string::{CodedSource, CodedString};
use crate::scan::source::{BlockIterator, BlockSource, ColumnBounds, ScanRequest};

/// More parts than this are not merged row by row: sorting is faster.
const STREAMS_MAX: usize = 32;

/// A snapshot after pruning, and how it is read.
pub(crate) struct PartsSource {
    request: ScanRequest,
    selection: Arc<Selection>,
    plan: Arc<ScanPlan>,
    tasks: Arc<TaskQueues>,
    caches: TableCaches,
    /// Parts for which the condition cache has entries.
    noted: u64,
    /// Rows that pass all conditions, if zone maps know; set at the first call.
    counted: OnceLock<Option<u64>>,
}

impl PartsSource {
    pub(crate) fn new(
        version: &PartsVersion,
        epoch: u64,
        caches: &TableCaches,
        request: &ScanRequest,
    ) -> Result<PartsSource> {
        let (selection, filters) = Selection::new(version, epoch, request)?;
        let asked = ScanRequest { filters, ..request.clone() };
        let source = PartsSource::planned(asked, Arc::new(selection), caches, Mode::Anyhow)?;
        source.count(&request.query.events);
        Ok(source)
    }

    fn planned(
        request: ScanRequest,
        selection: Arc<Selection>,
        caches: &TableCaches,
        mode: Mode,
    ) -> Result<PartsSource> {
        let plan = ScanPlan::new(&request, &selection, caches, mode)?;
        let (selection, noted) = match &plan.cached {
            None => (selection, 0),
            Some(cached) => {
                let (left, noted) = selection.without(cached);
                (if noted > 0 { Arc::new(left) } else { selection }, noted)
            }
        };
        let tasks = tasks_of(&selection, &plan);
        let bytes: u64 = tasks.iter().map(|task| task.bytes).sum();
        // A small scan ends before a second thread would wake up.
        let most = (2 * bytes / TASK_BYTES).clamp(1, tasks.len().max(1) as u64) as usize;
        let threads = request.query.threads().clamp(1, most);
        let tasks = Arc::new(match mode {
            Mode::InOrder => TaskQueues::in_order(tasks, threads),
            Mode::InReverse => TaskQueues::in_order(tasks, threads).reversed(),
            _ => TaskQueues::deal(tasks, threads),
        });
        Ok(PartsSource {
            request,
            selection,
            plan: Arc::new(plan),
            tasks,
            caches: caches.clone(),
            noted,
            counted: OnceLock::new(),
        })
    }

    fn count(&self, events: &ProfileEvents) {
        ProfileEvents::add(&events.selected_marks, self.selection.marks().0 as u64);
        ProfileEvents::add(&events.selected_parts, self.selection.part_count() as u64);
        if self.plan.cached.is_some() {
            ProfileEvents::add(&events.condition_cache_hits, self.noted);
            let parts = self.selection.parts.len() as u64;
            ProfileEvents::add(&events.condition_cache_misses, parts - self.noted);
        }
    }

    /// `filter`, which is over the output columns, over the stored ones.
    fn over_stored(&self, filter: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let place = |expr: Arc<dyn PhysicalExpr>| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            let stored = self.request.columns[column.index()];
            let name = &self.request.stored[stored].name;
            Ok(Transformed::yes(Arc::new(Column::new(name, stored)) as Arc<dyn PhysicalExpr>))
        };
        Arc::clone(filter).transform_up(place).data().map_err(from_datafusion)
    }
}

impl BlockSource for PartsSource {
    fn partition_count(&self) -> usize {
        self.tasks.count()
    }

    fn open(&self, partition: usize) -> Result<BlockIterator> {
        Ok(Box::new(Worker::new(Arc::clone(&self.plan), Arc::clone(&self.tasks), partition)))
    }

    fn rows_estimate(&self) -> Option<u64> {
        Some(self.selection.row_count())
    }

    fn rows_exactly(&self) -> Option<u64> {
        if !self.plan.filters() {
            return self.selection.live_row_count();
        }
        // Only for a count is it worth looking up the passing rows of every granule.
        if !self.plan.output.is_empty() || !self.plan.dynamic.is_empty() || self.plan.limit.is_some() {
            return None;
        }
        *self.counted.get_or_init(|| row_count(&self.selection, &self.plan.steps).ok().flatten())
    }

    fn bounds(&self, column: usize) -> Option<ColumnBounds> {
        let (selected, total) = self.selection.marks();
        if self.plan.filters() || selected < total || self.selection.has_deleted_rows() {
            return None;
        }
        if self.plan.numbers[column].is_some() {
            return None;
        }
        let at = self.plan.slots[self.plan.output[column]].stored()?;
        let (mut bounds, mut null_count): (Option<(ScalarValue, ScalarValue)>, u64) = (None, 0);
        for (part, _) in &self.selection.parts {
            let (array, nulls) = part.exact_bounds(at).ok()??;
            null_count += nulls;
            let (low, high) =
                (ScalarValue::try_from_array(&array, 0).ok()?, ScalarValue::try_from_array(&array, 1).ok()?);
            bounds = Some(match bounds {
                None => (low, high),
                Some((least, greatest)) => {
                    (if low < least { low } else { least }, if high > greatest { high } else { greatest })
                }
            });
        }
        bounds.map(|(least, greatest)| ColumnBounds { least, greatest, null_count })
    }

    fn counts_reads(&self) -> bool {
        true
    }

    fn with_filters(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Result<Option<Arc<dyn BlockSource>>> {
        // A filter from above a limit would select other rows below it.
        if self.plan.limit.is_some() {
            return Ok(None);
        }
        let mut request = self.request.clone();
        for filter in filters {
            if collect_columns(filter).iter().any(|column| self.plan.numbers[column.index()].is_some()) {
                return Ok(None);
            }
            request.filters.push(self.over_stored(filter)?);
        }
        let selection = Arc::clone(&self.selection);
        Ok(Some(Arc::new(PartsSource::planned(request, selection, &self.caches, self.plan.mode)?)))
    }

    fn deferrable(&self, kept: &[usize]) -> Vec<usize> {
        let is_plain = self.plan.mode == Mode::Anyhow && self.request.numbers.is_empty();
        if !rows::fits(&self.selection) || self.plan.limit.is_some() || !is_plain {
            return Vec::new();
        }
        let is_read = |slot: &usize| self.plan.steps.iter().any(|step| step.slots.contains(slot));
        let columns = 0..self.plan.output.len();
        columns.filter(|column| !kept.contains(column) && !is_read(&self.plan.output[*column])).collect()
    }

    fn narrowed(&self, columns: &[usize]) -> Result<Arc<dyn BlockSource>> {
        let request = ScanRequest {
            columns: columns.iter().map(|&column| self.request.columns[column]).collect(),
            ..self.request.clone()
        };
        let selection = Arc::clone(&self.selection);
        Ok(Arc::new(PartsSource::planned(request, selection, &self.caches, Mode::WithPlaces)?))
    }

    fn fetch(&self, rows: &UInt64Array, columns: &[usize]) -> Result<RecordBatch> {
        let request = ScanRequest {
            columns: columns.iter().map(|&column| self.request.columns[column]).collect(),
            filters: Vec::new(),
            ..self.request.clone()
        };
        let plan = ScanPlan::new(&request, &self.selection, &self.caches, Mode::Anyhow)?;
        let arrays = rows::fetch(&plan, &self.selection, rows)?;
        RecordBatch::try_new(Arc::clone(&plan.schema), arrays).map_err(Error::of_arrow)
    }

    fn in_order(&self, order: &[(usize, SortOptions)]) -> Result<Option<Arc<dyn BlockSource>>> {
        let stored = |(column, options): &(usize, SortOptions)| {
            Some((self.plan.slots[self.plan.output[*column]].stored()?, *options))
        };
        let Some(order) = order.iter().map(stored).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let mode = key_order::mode(&self.selection.spec, &order, |column| self.selection.is_fixed(column));
        let Some(mode) = mode else { return Ok(None) };
        let parts = self.selection.part_count();
        let is_small = self.tasks.count() == 1 && parts > 1;
        if !self.request.numbers.is_empty()
            || !self.plan.query.settings.optimize_read_in_order
            || is_small
            || parts > STREAMS_MAX
        {
            return Ok(None);
        }
        let (request, selection) = (self.request.clone(), Arc::clone(&self.selection));
        Ok(Some(Arc::new(PartsSource::planned(request, selection, &self.caches, mode)?)))
    }

    fn with_limit(&self, limit: usize) -> Result<Option<Arc<dyn BlockSource>>> {
        let request = ScanRequest { limit: Some(limit), ..self.request.clone() };
        let selection = Arc::clone(&self.selection);
        Ok(Some(Arc::new(PartsSource::planned(request, selection, &self.caches, self.plan.mode)?)))
    }

    fn coded(&self, strings: &[CodedString]) -> Result<Option<CodedSource>> {
        let Some((request, strings)) = coding::coded(&self.request, &self.selection, &self.plan, strings)?
        else {
            return Ok(None);
        };
        let source =
            PartsSource::planned(request, Arc::clone(&self.selection), &self.caches, self.plan.mode)?;
        Ok(Some(CodedSource { source: Arc::new(source), strings }))
    }

    fn index_report(&self) -> Result<Vec<String>> {
        index_report::lines(&self.selection)
    }

    fn describe(&self) -> String {
        let (selected, total) = self.selection.marks();
        let (parts, all) = (self.selection.part_count(), self.selection.parts.len());
        let mut text = format!("parts: {parts}/{all}, granules: {selected}/{total}");
        let mut is_in = None;
        for step in &self.plan.steps {
            let is_prewhere = step.conjunct.is_prewhere;
            let before = match is_in.replace(is_prewhere) {
                Some(clause) if clause == is_prewhere => " AND ",
                _ if is_prewhere => ", prewhere: ",
                _ => ", where: ",
            };
            // Writing to a string does not fail.
            let _ = write!(text, "{before}{step}");
        }
        match self.plan.mode {
            Mode::InOrder => text.push_str(", in order of the key"),
            Mode::InReverse => text.push_str(", in reverse order of the key"),
            Mode::Anyhow | Mode::WithPlaces => {}
        }
        if !self.plan.dynamic.is_empty() {
            let _ = write!(text, ", dynamic filters: {}", self.plan.dynamic.len());
        }
        text
    }
}
