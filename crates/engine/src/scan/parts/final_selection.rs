//! The granules that a query with FINAL reads.
//!
//! Conditions apply to the rows that a merge leaves. If a granule were skipped because none of its stored rows meets
//! them, the merge might miss a newer row of a key. Conditions on columns of the sorting key have the same outcome for
//! all rows of a key, so they may skip granules. The granules that the other conditions leave are read together with
//! every granule that may have one of the same keys.

use std::sync::Arc;

use basalt_base::Result;
use basalt_parts::{
    KeyCondition, KeyElement, MarkRanges, Part, PartSpec, PartsVersion, Predicate, SkipIndex, Snapshot,
    with_same_keys,
};

use super::selection::conditions_of;
use super::{index_choice, part_columns};
use crate::context::ProfileEvents;
use crate::scan::source::ScanRequest;

/// Granules of parts, in groups that have no key in common.
pub(super) struct FinalSelection {
    pub(super) spec: Arc<PartSpec>,
    pub(super) snapshot: Snapshot,
    /// Parts by their positions in the snapshot, and the granules to read; without parts that are not read.
    pub(super) groups: Vec<Vec<(usize, MarkRanges)>>,
}

/// The conditions that leave out granules.
struct Conditions {
    /// The same for all rows of a key.
    of_key: Vec<KeyCondition>,
    /// Has the same outcome for all rows of a key, too.
    predicate_of_key: Predicate,
    all: Vec<KeyCondition>,
    predicate: Predicate,
    indexes: Vec<SkipIndex>,
    /// Whether indexes may skip a granule only if it shares no key with the granules that they keep.
    is_exact: bool,
}

impl FinalSelection {
    pub(super) fn new(version: &PartsVersion, request: &ScanRequest) -> Result<FinalSelection> {
        let PartsVersion { spec, parts: snapshot } = version.clone();
        // As in ClickHouse, conditions on a part itself choose the merged parts, but not those on its position in the
        // snapshot.
        let decided = part_columns::decided(request, &snapshot, |column| !column.is_of_snapshot())?;
        let takes_part = |index: usize| decided.as_ref().is_none_or(|decided| decided.kept.value(index));
        let settings = &request.query.settings;
        let is_apart = settings.do_not_merge_across_partitions_select_final
            || (settings.enable_automatic_decision_for_merging_across_partitions_for_final
                && spec.is_partitioned_by_key());
        let conditions = Conditions::of(request, &spec)?;
        let indexes: Vec<usize> = (0..snapshot.len()).filter(|index| takes_part(*index)).collect();
        let same_group = |a: &usize, b: &usize| {
            !is_apart || snapshot[*a].name().partition == snapshot[*b].name().partition
        };
        let mut groups = Vec::new();
        for group in indexes.chunk_by(same_group) {
            let parts: Vec<Arc<Part>> = group.iter().map(|index| Arc::clone(&snapshot[*index])).collect();
            let marks = conditions.left(&parts)?;
            let read = group.iter().copied().zip(marks).filter(|(_, marks)| marks.selected() > 0);
            groups.push(read.collect());
        }
        groups.retain(|group: &Vec<_>| !group.is_empty());
        Ok(FinalSelection { spec, snapshot, groups })
    }

    /// Granules that are read.
    pub(super) fn marks(&self) -> usize {
        self.groups.iter().flatten().map(|(_, marks)| marks.selected()).sum()
    }

    pub(super) fn count(&self, events: &ProfileEvents) {
        ProfileEvents::add(&events.selected_marks, self.marks() as u64);
        ProfileEvents::add(&events.selected_parts, self.groups.iter().map(Vec::len).sum::<usize>() as u64);
    }

    pub(super) fn describe(&self) -> String {
        let (parts, all) = (self.groups.iter().map(Vec::len).sum::<usize>(), self.snapshot.len());
        let total: usize = self.snapshot.iter().map(|part| part.mark_count()).sum();
        format!("parts: {parts}/{all}, granules: {}/{total}", self.marks())
    }
}

impl Conditions {
    fn of(request: &ScanRequest, spec: &PartSpec) -> Result<Conditions> {
        let settings = &request.query.settings;
        // A merge may compute values that no stored row has.
        let computed = match spec.mode {
            basalt_parts::MergeMode::Summing { .. } => spec.mode.columns(),
            _ => Vec::new(),
        };
        let mut all = conditions_of(request, spec)?;
        all.retain(|condition| !computed.contains(&condition.column));
        let in_key =
            |column: usize| spec.sort_key.iter().any(|key| KeyElement::as_column(key) == Some(column));
        let of_key = all.iter().filter(|condition| in_key(condition.column)).cloned().collect();
        let mut indexes = index_choice::choose(request, spec, &all)?;
        let reads = |index: &SkipIndex, column: &usize| index.reads(&spec.columns[*column].name);
        indexes.retain(|index| {
            settings.use_skip_indexes_if_final && !computed.iter().any(|column| reads(index, column))
        });
        // Pruning checks the predicate on expressions of the sorting and the partition key alone. Rows of one key may
        // be in several partitions, unless the table is partitioned by its key.
        let is_of_key = spec.is_partitioned_by_key();
        let predicate = request.predicate.clone();
        Ok(Conditions {
            of_key,
            predicate_of_key: if is_of_key { predicate.clone() } else { Predicate::Any },
            all,
            predicate,
            indexes,
            is_exact: settings.use_skip_indexes_if_final_exact_mode,
        })
    }

    /// The granules to read of parts that are merged with each other.
    fn left(&self, parts: &[Arc<Part>]) -> Result<Vec<MarkRanges>> {
        let of_key = |part: &Arc<Part>| part.prune(&self.of_key, &self.predicate_of_key);
        let of_key = parts.iter().map(of_key).collect::<Result<Vec<_>, _>>()?;
        let zoned = parts.iter().map(|part| part.prune(&self.all, &self.predicate));
        let zoned = with_keys(parts, of_key, zoned.collect::<Result<Vec<_>, _>>()?)?;
        let indexed = parts.iter().zip(&zoned);
        let indexed = indexed
            .map(|(part, marks)| part.prune_by_indexes(&self.indexes, marks.clone(), &self.predicate))
            .collect::<Result<Vec<_>, _>>()?;
        if self.is_exact { with_keys(parts, zoned, indexed) } else { Ok(indexed) }
    }
}

/// The granules of `all` that may have a key of `wanted`.
fn with_keys(parts: &[Arc<Part>], all: Vec<MarkRanges>, wanted: Vec<MarkRanges>) -> Result<Vec<MarkRanges>> {
    if wanted == all { Ok(all) } else { Ok(with_same_keys(parts, &all, &wanted)?) }
}
