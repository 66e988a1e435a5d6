//! A part seen as rows of the table: finds the granules that a query needs and reads them.

use std::ops::{Bound, Range};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::meta::{decode_bounds, decode_partition};
use super::stored::{StoredColumn, StoredPart};
use crate::column::pieces::{ColumnReader, ReadContext};
use crate::column::plain::plain;
use crate::column::reader::ReadScratch;
use crate::column::writer::BLOCK_GRANULES_MAX;
use crate::error::Result;
use crate::index::predicate::Predicate;
use crate::index::skip_index::SkipIndex;
use crate::index::zones::Zones;
use crate::key::element::KeyElement;
use crate::key::partition::PartitionValue;
use crate::key::primary::PrimaryIndex;
use crate::key::prune::{self, KeySet, MarkRanges};
use crate::key::ranges::{KeyCondition, encode};
use crate::metrics::ReadMetrics;
use crate::name::PartName;
use crate::spec::PartSpec;

/// One part of a snapshot. Shared by threads; readable for as long as it is held.
#[derive(Debug)]
pub struct Part {
    pub(crate) stored: Arc<StoredPart>,
    pub(crate) spec: Arc<PartSpec>,
    /// By position in the table; `None` where the part was written before the column was added.
    pub(crate) columns: Vec<Option<Arc<StoredColumn>>>,
}

/// What one index left of a part.
#[derive(Clone, Debug)]
pub struct PruneStep {
    /// `PartBounds`, `Partition`, `PrimaryKey` or `ZoneMap`.
    pub index: &'static str,
    pub left: MarkRanges,
}

impl Part {
    pub(crate) fn new(stored: Arc<StoredPart>, spec: Arc<PartSpec>) -> Result<Part> {
        let columns = stored.columns(&spec.columns)?;
        Ok(Part { stored, spec, columns })
    }

    pub fn name(&self) -> &PartName {
        &self.stored.name
    }

    /// Rows in the files, deleted ones too.
    pub fn row_count(&self) -> u64 {
        self.stored.meta.row_count
    }

    /// Rows that a lightweight DELETE took away, and that are in the files until the next merge.
    pub fn deleted_count(&self) -> u64 {
        self.stored.meta.deleted_count
    }

    /// Rows that a query sees.
    pub fn live_row_count(&self) -> u64 {
        self.row_count() - self.deleted_count()
    }

    /// A bit for each row of the files, set where the row is deleted; `None` if no row is. The readers
    /// of single columns know nothing of it.
    pub fn deleted(&self) -> Result<Option<&BooleanBuffer>> {
        self.stored.deleted()
    }

    /// Granules of the part.
    pub fn mark_count(&self) -> usize {
        self.stored.meta.mark_count()
    }

    /// Bytes of the values of the column at `column` of the table, decoded; 0 if the part was written
    /// without it.
    pub fn column_bytes(&self, column: usize) -> u64 {
        self.columns[column].as_ref().map_or(0, |stored| stored.file.decoded_bytes())
    }

    /// Bytes of the values of all rows in memory, about.
    pub(crate) fn value_bytes(&self) -> u64 {
        match self.stored.meta.value_bytes {
            0 => self.decoded_bytes(),
            bytes => bytes,
        }
    }

    /// Bytes of the values of all columns as they are stored, decoded.
    pub(crate) fn decoded_bytes(&self) -> u64 {
        self.columns.iter().flatten().map(|stored| stored.file.decoded_bytes()).sum()
    }

    /// About as many bytes as the values of the column at `column` of the table take in memory: of strings
    /// a view of each, and their bytes unless they are codes.
    pub(crate) fn carrier_bytes(&self, column: usize) -> u64 {
        let views = match self.spec.columns[column].ty.carrier() {
            DataType::BinaryView => self.row_count() * size_of::<u128>() as u64,
            _ => 0,
        };
        views + self.column_bytes(column)
    }

    /// The smallest and the largest value of the column at `column` of the table, as an array of two, and
    /// how many NULLs there are beside them. `None` if they are not known exactly: the part was written
    /// without the column, has no value in it, or the type's bounds are loose.
    pub fn exact_bounds(&self, column: usize) -> Result<Option<(ArrayRef, u64)>> {
        let column = &self.spec.columns[column];
        // Bounds of strings are cut off, and NaN has no place among floating-point numbers.
        let carrier = column.ty.carrier();
        if !carrier.is_primitive() || carrier.is_floating() {
            return Ok(None);
        }
        let Some(meta) = self.stored.meta.columns.iter().find(|meta| meta.name == column.name) else {
            return Ok(None);
        };
        let path = self.stored.directory.path().join(super::meta::META_FILE);
        let bounds =
            decode_bounds(&column.to_field(), &meta.bounds).map_err(|damage| damage.in_file(&path))?;
        Ok(bounds.map(|bounds| (bounds, meta.null_count)))
    }

    /// The columns as of the snapshot; positions in [`Part::read`] are positions in them.
    pub fn spec(&self) -> &PartSpec {
        &self.spec
    }

    /// The rows of `marks`.
    pub fn mark_rows(&self, marks: &Range<usize>) -> Range<u64> {
        let granule_rows = u64::from(self.stored.meta.granule_rows);
        let row = |mark: usize| (mark as u64 * granule_rows).min(self.row_count());
        row(marks.start)..row(marks.end)
    }

    /// The granules that can hold a row for which all `conditions` hold.
    ///
    /// The primary key decides granule by granule, as do the zone maps of other columns; the part's
    /// bounds come before both.
    ///
    /// # Panics
    ///
    /// If a condition's column is not in the table.
    pub fn prune(&self, conditions: &[KeyCondition]) -> Result<MarkRanges> {
        let left = self.prune_steps(conditions)?.pop().map(|step| step.left);
        Ok(left.unwrap_or_else(|| MarkRanges::all(self.mark_count())))
    }

    /// What [`Part::prune`] does, index by index: each sees what the one before left.
    ///
    /// # Panics
    ///
    /// If a condition's column is not in the table.
    pub fn prune_steps(&self, conditions: &[KeyCondition]) -> Result<Vec<PruneStep>> {
        if conditions.is_empty() {
            return Ok(Vec::new());
        }
        let mut overlaps = true;
        for condition in conditions {
            overlaps = overlaps && self.bounds_overlap(condition)?;
        }
        let marks = self.mark_count();
        if !overlaps {
            return Ok(vec![PruneStep { index: "PartBounds", left: MarkRanges::none(marks) }]);
        }
        let mut steps = vec![PruneStep { index: "PartBounds", left: MarkRanges::all(marks) }];
        if !self.spec.partition_key.is_empty() {
            let fits = self.partition_fits(conditions)?;
            let left = if fits { MarkRanges::all(marks) } else { MarkRanges::none(marks) };
            steps.push(PruneStep { index: "Partition", left });
            if !fits {
                return Ok(steps);
            }
        }
        if let Some(left) = self.prune_by_key(conditions)? {
            steps.push(PruneStep { index: "PrimaryKey", left });
        }
        let kept = steps.last().map_or_else(|| MarkRanges::all(marks), |step| step.left.clone());
        steps.push(PruneStep { index: "ZoneMap", left: self.prune_by_zones(kept, conditions)? });
        Ok(steps)
    }

    /// What the primary index leaves; `None` if no condition is on its columns.
    fn prune_by_key(&self, conditions: &[KeyCondition]) -> Result<Option<MarkRanges>> {
        let (sets, is_wanted) = self.key_sets(conditions);
        if !is_wanted || !self.has_primary_key() {
            return Ok(None);
        }
        Ok(Some(prune::prune(self.primary()?, &sets, self.mark_count())))
    }

    /// What each element of the primary key may be, and whether `conditions` say anything of it.
    fn key_sets(&self, conditions: &[KeyCondition]) -> (Vec<KeySet>, bool) {
        let mut is_wanted = false;
        let mut set = |element: &KeyElement| {
            let mut set = KeySet::all(element.descending);
            for ranges in conditions.iter().filter_map(|one| element.ranges(one, &self.spec.columns)) {
                set.ranges = set.ranges.intersect(&ranges);
                is_wanted = true;
            }
            set
        };
        let sets = self.spec.primary_key().iter().map(&mut set).collect();
        (sets, is_wanted)
    }

    fn prune_by_zones(&self, mut kept: MarkRanges, conditions: &[KeyCondition]) -> Result<MarkRanges> {
        // Of the first key column the primary index says almost the same.
        let first = self.spec.primary_key().first().filter(|_| self.has_primary_key());
        let sorted = first.and_then(KeyElement::as_column);
        for condition in conditions.iter().filter(|condition| Some(condition.column) != sorted) {
            // The bounds said all of one granule.
            if kept.selected() == 0 || kept.total == 1 {
                return Ok(kept);
            }
            if let Some(zones) = self.zones(condition.column)? {
                kept = zones.retain(&kept, &condition.ranges);
            }
        }
        Ok(kept)
    }

    /// Those of `marks` that the table's skip indexes leave where `predicate` holds.
    pub fn prune_by_indexes(&self, marks: MarkRanges, predicate: &Predicate) -> Result<MarkRanges> {
        let mut kept = marks;
        for index in &self.spec.indexes {
            if let Some(left) = self.prune_by_index(index, &kept, predicate)? {
                kept = left;
            }
        }
        Ok(kept)
    }

    /// Those of `marks` that `index` leaves where `predicate` holds; `None` if the predicate says nothing
    /// that the index understands, or the part was written without it.
    pub fn prune_by_index(
        &self,
        index: &SkipIndex,
        marks: &MarkRanges,
        predicate: &Predicate,
    ) -> Result<Option<MarkRanges>> {
        let speaks = predicate.speaks_of(&index.column, &|wanted| index.kind.understands(wanted));
        let Some(column) = self.spec.columns.position(&index.column).filter(|_| speaks) else {
            return Ok(None);
        };
        if marks.selected() == 0 {
            return Ok(Some(marks.clone()));
        }
        let summaries = self.stored.skip_summaries(index, &self.spec.field(column))?;
        Ok(summaries.map(|summaries| summaries.retain(marks, &index.column, predicate)))
    }

    /// The smallest and largest value of each granule of `column` (a position in the table); `None` if
    /// the part was written without them or the type has no order. Read at the first use, and kept.
    ///
    /// # Panics
    ///
    /// If the column does not exist.
    pub fn zones(&self, column: usize) -> Result<Option<Arc<Zones>>> {
        match &self.columns[column] {
            Some(stored) => self.stored.zones(stored, &self.spec.columns[column]),
            None => Ok(None),
        }
    }

    /// Whether the part was written with the key that the table has.
    fn has_primary_key(&self) -> bool {
        let names = self.spec.primary_key().iter().map(|element| element.name(&self.spec.columns));
        names.eq(self.stored.meta.primary_key.iter().cloned())
    }

    fn primary(&self) -> Result<&PrimaryIndex> {
        let columns = &self.spec.columns;
        let fields: Vec<_> = self.spec.primary_key().iter().map(|element| element.field(columns)).collect();
        self.stored.primary(&fields)
    }

    /// The value of the partition key in all rows.
    pub fn partition(&self) -> Result<PartitionValue> {
        let path = self.stored.directory.path().join(super::meta::META_FILE);
        decode_partition(&self.spec, &self.stored.meta.partition).map_err(|damage| damage.in_file(&path))
    }

    /// Whether rows of the part's partition can meet all `conditions`.
    fn partition_fits(&self, conditions: &[KeyCondition]) -> Result<bool> {
        if conditions.is_empty() || self.spec.partition_key.is_empty() {
            return Ok(true);
        }
        let partition = self.partition()?;
        for (element, (_, value)) in self.spec.partition_key.iter().zip(&partition.elements) {
            let value = encode(value)?;
            let mut sets = conditions.iter().filter_map(|one| element.ranges(one, &self.spec.columns));
            if !sets.all(|set| set.contains(value.row(0).data())) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn bounds_overlap(&self, condition: &KeyCondition) -> Result<bool> {
        if condition.ranges.is_empty() {
            return Ok(false);
        }
        let column = &self.spec.columns[condition.column];
        let Some(meta) = self.stored.column_meta(&column.name) else { return Ok(true) };
        let path = self.stored.directory.path().join(super::meta::META_FILE);
        let bounds =
            decode_bounds(&column.to_field(), &meta.bounds).map_err(|damage| damage.in_file(&path))?;
        let Some(bounds) = bounds else { return Ok(true) };
        let rows = encode(&bounds)?;
        // NULL is above every value.
        let high = if meta.null_count > 0 { Bound::Unbounded } else { Bound::Included(rows.row(1).data()) };
        Ok(condition.ranges.overlaps(Bound::Included(rows.row(0).data()), high))
    }

    /// The values of `columns` (positions in the table, in any order) in the rows of `marks`. Reads
    /// only the files and blocks that hold them.
    ///
    /// # Panics
    ///
    /// If a column or mark does not exist.
    pub fn read(&self, columns: &[usize], marks: Range<usize>, metrics: &ReadMetrics) -> Result<RecordBatch> {
        assert!(marks.start <= marks.end && marks.end <= self.mark_count(), "the marks exist");
        let rows = self.mark_rows(&marks);
        let row_count = (rows.end - rows.start) as usize;
        let mut ctx = ReadContext { cache: None, metrics, scratch: &mut ReadScratch::default() };
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
        for &column in columns {
            arrays.push(match &self.columns[column] {
                Some(stored) => plain(&ColumnReader::new(&stored.file).read(rows.clone(), &mut ctx)?),
                None => self.spec.filled(column, row_count)?,
            });
        }
        metrics.count_rows(row_count, marks.len());
        self.batch(columns, arrays, row_count)
    }

    /// `arrays` of `columns` as a batch of the table's types.
    pub(crate) fn batch(&self, columns: &[usize], arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.projected_schema(columns), arrays, &options)?)
    }

    pub(crate) fn projected_schema(&self, columns: &[usize]) -> SchemaRef {
        let fields: Vec<_> = columns.iter().map(|&column| self.spec.field(column)).collect();
        Arc::new(Schema::new(fields))
    }

    /// Reads every block of every file once; the first damage is the error.
    pub fn check(&self) -> Result<()> {
        let metrics = ReadMetrics::default();
        let mut ctx = ReadContext { cache: None, metrics: &metrics, scratch: &mut ReadScratch::default() };
        for stored in self.columns.iter().flatten() {
            let mut reader = ColumnReader::new(&stored.file);
            for start in (0..self.mark_count()).step_by(BLOCK_GRANULES_MAX) {
                let end = self.mark_count().min(start + BLOCK_GRANULES_MAX);
                reader.read(self.mark_rows(&(start..end)), &mut ctx)?;
            }
        }
        for column in 0..self.spec.columns.len() {
            self.zones(column)?;
        }
        self.deleted()?;
        for index in &self.spec.indexes {
            if let Some(column) = self.spec.columns.position(&index.column) {
                self.stored.skip_summaries(index, &self.spec.field(column))?;
            }
        }
        self.primary().map(|_| ())
    }
}
