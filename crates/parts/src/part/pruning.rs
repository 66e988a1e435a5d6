//! Prunes the granules of a part for a query: by bounds, partition, key, zone maps and skip indexes.

use std::ops::Bound;

use basalt_base::SqlType;

use super::meta::{META_FILE, decode_bounds};
use super::view::Part;
use crate::error::Result;
use crate::index::predicate::{Operand, Predicate};
use crate::index::skip_index::SkipIndex;
use crate::key::element::KeyElement;
use crate::key::prune::{self, KeySet, MarkRanges};
use crate::key::ranges::{KeyCondition, KeyRanges};
use crate::key::row_format::encode;
use crate::spec::PartSpec;

/// The granules that one index keeps.
#[derive(Clone, Debug)]
pub struct PruneStep {
    /// `Min-Max`, `Partition`, `PrimaryKey` or `ZoneMap`.
    pub index: &'static str,
    pub left: MarkRanges,
}

/// A condition on a column or on an element of a key.
#[derive(Clone, Debug)]
pub struct ColumnConstraint {
    pub name: String,
    pub ty: SqlType,
    pub ranges: KeyRanges,
}

/// Expressions in keys by their texts, with the values that they may have.
type Computed = Vec<(String, KeyRanges)>;

impl Part {
    /// The granules that may have a row for which all `conditions` and `predicate` hold.
    ///
    /// The part's bounds come first, then the primary key and the zone maps of other columns, both granule by
    /// granule.
    ///
    /// # Panics
    ///
    /// If a condition's column is not in the table.
    pub fn prune(&self, conditions: &[KeyCondition], predicate: &Predicate) -> Result<MarkRanges> {
        let left = self.prune_steps(conditions, predicate)?.pop().map(|step| step.left);
        Ok(left.unwrap_or_else(|| MarkRanges::all(self.mark_count())))
    }

    /// Like [`Part::prune`], index by index: each gets the granules that the previous one kept.
    ///
    /// # Panics
    ///
    /// If a condition's column is not in the table.
    pub fn prune_steps(&self, conditions: &[KeyCondition], predicate: &Predicate) -> Result<Vec<PruneStep>> {
        let computed = computed_ranges(&self.spec, predicate);
        if conditions.is_empty() && computed.is_empty() {
            return Ok(Vec::new());
        }
        let mut overlaps = true;
        for condition in conditions {
            overlaps = overlaps && self.bounds_overlap(condition)?;
        }
        let marks = self.mark_count();
        if !overlaps {
            return Ok(vec![PruneStep { index: "Min-Max", left: MarkRanges::none(marks) }]);
        }
        let mut steps = vec![PruneStep { index: "Min-Max", left: MarkRanges::all(marks) }];
        if !self.spec.partition_key.is_empty() {
            let fits = self.partition_fits(conditions, &computed)?;
            let left = if fits { MarkRanges::all(marks) } else { MarkRanges::none(marks) };
            steps.push(PruneStep { index: "Partition", left });
            if !fits {
                return Ok(steps);
            }
        }
        if let Some(left) = self.prune_by_key(conditions, &computed)? {
            steps.push(PruneStep { index: "PrimaryKey", left });
        }
        let kept = steps.last().map_or_else(|| MarkRanges::all(marks), |step| step.left.clone());
        steps.push(PruneStep { index: "ZoneMap", left: self.prune_by_zones(kept, conditions)? });
        Ok(steps)
    }

    /// The granules that the primary index keeps; `None` if no condition is on its columns.
    fn prune_by_key(&self, conditions: &[KeyCondition], computed: &Computed) -> Result<Option<MarkRanges>> {
        let (sets, is_wanted) = self.key_sets(conditions, computed);
        if !is_wanted || !self.has_primary_key() {
            return Ok(None);
        }
        Ok(Some(prune::prune(self.primary()?, &sets, self.mark_count())))
    }

    /// The allowed values of each element of the primary key, and whether any of them is restricted.
    fn key_sets(&self, conditions: &[KeyCondition], computed: &Computed) -> (Vec<KeySet>, bool) {
        let mut is_wanted = false;
        let mut set = |element: &KeyElement| {
            let mut set = KeySet::all(element.descending);
            for ranges in ranges_of(&self.spec, element, conditions, computed) {
                set.ranges = set.ranges.intersect(&ranges);
                is_wanted = true;
            }
            set
        };
        let sets = self.spec.primary_key().iter().map(&mut set).collect();
        (sets, is_wanted)
    }

    fn prune_by_zones(&self, mut kept: MarkRanges, conditions: &[KeyCondition]) -> Result<MarkRanges> {
        // The zone map of the first key column hardly adds to the primary index.
        let first = self.spec.primary_key().first().filter(|_| self.has_primary_key());
        let sorted = first.and_then(KeyElement::as_column);
        for condition in conditions.iter().filter(|condition| Some(condition.column) != sorted) {
            // For a single granule the bounds were enough.
            if kept.selected() == 0 || kept.total == 1 {
                return Ok(kept);
            }
            if let Some(zones) = self.zones(condition.column)? {
                kept = zones.retain(&kept, &condition.ranges);
            }
        }
        Ok(kept)
    }

    /// Those of `marks` that the table's `indexes` keep for `predicate`.
    pub fn prune_by_indexes(
        &self,
        indexes: &[SkipIndex],
        marks: MarkRanges,
        predicate: &Predicate,
    ) -> Result<MarkRanges> {
        let mut kept = marks;
        for index in indexes {
            if let Some(left) = self.prune_by_index(index, &kept, predicate)? {
                kept = left;
            }
        }
        Ok(kept)
    }

    /// Those of `marks` that `index` keeps for `predicate`; `None` if the index does not understand the predicate,
    /// or the part was written without it.
    pub fn prune_by_index(
        &self,
        index: &SkipIndex,
        marks: &MarkRanges,
        predicate: &Predicate,
    ) -> Result<Option<MarkRanges>> {
        if !index.is_of_use(predicate) || !self.has_values_of(index) {
            return Ok(None);
        }
        if marks.selected() == 0 {
            return Ok(Some(marks.clone()));
        }
        let summaries = self.stored.skip_summaries(index, &self.spec.columns)?;
        Ok(summaries.map(|summaries| summaries.retain(marks, index, predicate)))
    }

    /// Whether the part was written with the table's primary key.
    pub(crate) fn has_primary_key(&self) -> bool {
        let names = self.spec.primary_key().iter().map(|element| element.name(&self.spec.columns));
        names.eq(self.stored.meta.primary_key.iter().cloned())
    }

    /// Whether rows of the part's partition can fulfil all `conditions`.
    fn partition_fits(&self, conditions: &[KeyCondition], computed: &Computed) -> Result<bool> {
        if self.spec.partition_key.is_empty() {
            return Ok(true);
        }
        let partition = self.partition()?;
        for (element, (_, value)) in self.spec.partition_key.iter().zip(&partition.elements) {
            let value = encode(value)?;
            let mut sets = ranges_of(&self.spec, element, conditions, computed);
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
        if self.is_converted(condition.column) {
            return Ok(true);
        }
        let column = &self.spec.columns[condition.column];
        let Some(meta) = self.stored.column_meta(&column.name) else { return Ok(true) };
        let path = self.stored.directory.path().join(META_FILE);
        let bounds =
            decode_bounds(&column.to_field(), &meta.bounds).map_err(|damage| damage.in_file(&path))?;
        let Some(bounds) = bounds else { return Ok(true) };
        let rows = encode(&bounds)?;
        // NULL is above every value.
        let high = if meta.null_count > 0 { Bound::Unbounded } else { Bound::Included(rows.row(1).data()) };
        Ok(condition.ranges.overlaps(Bound::Included(rows.row(0).data()), high))
    }
}

impl PartSpec {
    /// Whether a query with these conditions uses the primary key.
    pub fn uses_primary_key(&self, conditions: &[KeyCondition], predicate: &Predicate) -> bool {
        self.uses(self.primary_key(), conditions, predicate)
    }

    /// Whether a query with these conditions uses the partition key, or there is none.
    pub fn uses_partition_key(&self, conditions: &[KeyCondition], predicate: &Predicate) -> bool {
        self.partition_key.is_empty() || self.uses(&self.partition_key, conditions, predicate)
    }

    /// The conditions on the elements of the primary key.
    pub fn primary_key_constraints(
        &self,
        conditions: &[KeyCondition],
        predicate: &Predicate,
    ) -> Vec<ColumnConstraint> {
        self.constraints(self.primary_key(), conditions, predicate)
    }

    /// The conditions on the elements of the partition key.
    pub fn partition_key_constraints(
        &self,
        conditions: &[KeyCondition],
        predicate: &Predicate,
    ) -> Vec<ColumnConstraint> {
        self.constraints(&self.partition_key, conditions, predicate)
    }

    fn constraints(
        &self,
        key: &[KeyElement],
        conditions: &[KeyCondition],
        predicate: &Predicate,
    ) -> Vec<ColumnConstraint> {
        let computed = computed_ranges(self, predicate);
        let constraint = |element: &KeyElement| {
            let ranges = ranges_of(self, element, conditions, &computed);
            let ranges = ranges.reduce(|left, right| left.intersect(&right))?;
            let (name, ty) = (element.name(&self.columns), element.ty(&self.columns).clone());
            Some(ColumnConstraint { name, ty, ranges })
        };
        key.iter().filter_map(constraint).collect()
    }

    fn uses(&self, key: &[KeyElement], conditions: &[KeyCondition], predicate: &Predicate) -> bool {
        let computed = computed_ranges(self, predicate);
        key.iter().any(|element| {
            let reads = |condition: &KeyCondition| element.reads(condition.column, &self.columns);
            ranges_of(self, element, conditions, &computed).next().is_some() || conditions.iter().any(reads)
        })
    }
}

/// The allowed values of `element`, as sets that all apply.
fn ranges_of<'a>(
    spec: &'a PartSpec,
    element: &'a KeyElement,
    conditions: &'a [KeyCondition],
    computed: &'a Computed,
) -> impl Iterator<Item = KeyRanges> + 'a {
    let own = computed.iter().filter(|(text, _)| element.text() == Some(text));
    let own = own.map(|(_, ranges)| ranges.clone());
    own.chain(conditions.iter().filter_map(|one| element.ranges(one, &spec.columns)))
}

/// The values that `predicate` allows for expressions in keys.
fn computed_ranges(spec: &PartSpec, predicate: &Predicate) -> Computed {
    let mut computed = Computed::new();
    for text in spec.keys().filter_map(KeyElement::text) {
        if let Some(ranges) = predicate.ranges_of(&Operand::Expression(text.to_owned())) {
            computed.push((text.to_owned(), ranges));
        }
    }
    computed
}
