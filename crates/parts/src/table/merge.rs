//! Merging: makes one part of several, in key order, applying the table's mode.

use std::fmt;
use std::sync::Arc;

use super::active::{Commit, TableParts};
use super::claim::Claim;
use super::control::WorkControl;
use super::merged_rows::{MergeInput, MergedRows};
use super::reduce::reduced_rows;
use super::select::MERGED_PARTS_MAX;
use super::ttl::unexpired_spec;
use super::vertical::VerticalMerge;
use crate::error::Result;
use crate::key::prune::MarkRanges;
use crate::mode::{Purpose, reducer};
use crate::name::PartName;
use crate::part::view::Part;
use crate::part::writer::PendingPart;
use crate::spec::PartSpec;
use crate::ttl::apply::SortedRows;
use crate::ttl::recorder::TtlRecorder;

/// Options of `OPTIMIZE`.
#[derive(Clone, Debug, Default)]
pub struct OptimizeOptions<'a> {
    /// Restricts it to this partition.
    pub partition: Option<String>,
    /// Positions of columns, including the key: one of the rows that agree in them stays.
    pub deduplicate: Option<Vec<usize>>,
    /// Is called for each merge.
    pub watch: Option<&'a dyn MergeWatch>,
}

/// Observes the merges of an OPTIMIZE, one after the other.
pub trait MergeWatch: fmt::Debug {
    fn merge_begins(&self, parts: &[Arc<Part>]);

    fn merge_ends(&self);
}

impl TableParts {
    /// Merges `parts`, which must be neighbours, and replaces them by the result. `None` if they are no longer
    /// active, or are claimed. `control` can cancel it between two batches.
    ///
    /// # Panics
    ///
    /// If there are no parts.
    pub fn merge(&self, parts: &[Arc<Part>], control: &WorkControl) -> Result<Option<PartName>> {
        match self.claims.claim(parts) {
            Some(claim) => self.merge_claimed(&claim, &OptimizeOptions::default(), control),
            None => Ok(None),
        }
    }

    /// Makes one merge, whether it pays off or not; `false` if there are no neighbours to merge.
    pub fn optimize(&self, options: &OptimizeOptions<'_>, control: &WorkControl) -> Result<bool> {
        let Some(parts) = self.select_any(options.partition.as_deref()) else { return Ok(false) };
        let Some(claim) = self.claims.claim(&parts) else { return Ok(false) };
        Ok(self.merge_claimed(&claim, options, control)?.is_some())
    }

    /// Merges until each partition has one part, and every part has been through a merge that could change it.
    pub fn optimize_final(&self, options: &OptimizeOptions<'_>, control: &WorkControl) -> Result<()> {
        let mut partitions: Vec<String> =
            self.snapshot().iter().map(|part| part.name().partition.clone()).collect();
        partitions.dedup();
        partitions.retain(|partition| options.partition.as_ref().is_none_or(|only| only == partition));
        partitions.iter().try_for_each(|partition| self.optimize_partition(partition, options, control))
    }

    fn optimize_partition(
        &self,
        partition: &str,
        options: &OptimizeOptions<'_>,
        control: &WorkControl,
    ) -> Result<()> {
        let mut merged = Vec::new();
        // Rows that expire meanwhile are left to the next merge.
        let now_s = self.expires_at(&self.spec(), control);
        loop {
            let has_work = |group: &[Arc<Part>]| {
                let is_asked_for = options.deduplicate.is_some() || !group[0].has_all_columns();
                let waits = is_asked_for && !merged.contains(group[0].name());
                group.len() > 1 || waits || self.can_change(&group[0], now_s)
            };
            let claim = self.claims.claim_all(|| {
                let parts = self.snapshot();
                let mut groups = parts.chunk_by(|a, b| self.may_join(a, b));
                let in_partition = |group: &[Arc<Part>]| group[0].name().partition == partition;
                let group = groups.find(|group| in_partition(group) && has_work(group));
                group.map(<[_]>::to_vec).unwrap_or_default()
            });
            if claim.parts().is_empty() {
                return Ok(());
            }
            // Deduplication needs all rows that agree in one merge, which only the last one has.
            if claim.parts().len() <= MERGED_PARTS_MAX {
                merged.extend(self.merge_claimed(&claim, options, control)?);
            } else {
                let first = claim.first(MERGED_PARTS_MAX);
                let plain = OptimizeOptions { watch: options.watch, ..OptimizeOptions::default() };
                self.merge_claimed(&first, &plain, control)?;
            }
        }
    }

    /// Whether a merge of this part alone can change its rows.
    fn can_change(&self, part: &Part, now_s: Option<i64>) -> bool {
        let is_reduced = part.name().level > 0 || reducer(&self.spec(), Purpose::Merge).is_none();
        part.deleted_count() > 0 || !is_reduced || part.may_expire(&self.spec(), now_s)
    }

    fn merge_claimed(
        &self,
        claim: &Claim<'_>,
        options: &OptimizeOptions<'_>,
        control: &WorkControl,
    ) -> Result<Option<PartName>> {
        let parts = claim.parts();
        self.check_writable()?;
        if !self.begin_commit()?.are_active(parts) {
            return Ok(None);
        }
        let name = PartName::merged(parts.iter().map(|part| part.name()));
        let work = self.observe_work(control, name.clone(), parts, Vec::new());
        if let Some(watch) = options.watch {
            watch.merge_begins(parts);
        }
        let merged = self.merge_active(parts, name, options, control);
        if let Some(watch) = options.watch {
            watch.merge_ends();
        }
        work.end(merged.as_ref().map(|merged| merged.as_ref().map(|(part, _)| &**part)));
        Ok(merged?.map(|(part, _commit)| part.name().clone()))
    }

    /// Writes the merge of `parts` and publishes it as `name`. The caller reports the end of the merge before the
    /// commit ends.
    fn merge_active(
        &self,
        parts: &[Arc<Part>],
        name: PartName,
        options: &OptimizeOptions<'_>,
        control: &WorkControl,
    ) -> Result<Option<(Arc<Part>, Commit<'_>)>> {
        let spec = self.spec();
        let now_s = self.expires_at(&spec, control);
        let left: Vec<Arc<Part>> =
            parts.iter().filter(|part| !part.is_expired(&spec, now_s)).cloned().collect();
        let _space = self.reserve(left.iter().map(|part| part.bytes_on_disk()).sum())?;
        let pending = self.write_merged(&left, &spec, options.deduplicate.as_deref(), now_s, control, 1)?;
        pending.directory.sync()?;
        let commit = self.begin_commit()?;
        if !commit.are_active(parts) {
            return Ok(None);
        }
        commit.check_spec(&spec)?;
        let stored = commit.publish(pending, name)?;
        let merged = Arc::new(Part::new(stored, spec)?);
        commit.replace_all(Arc::clone(&merged));
        Ok(Some((merged, commit)))
    }

    /// Writes the merge of `parts` without the rows expired at `now_s`, seconds since 1970; the caller syncs.
    pub(super) fn write_merged(
        &self,
        parts: &[Arc<Part>],
        spec: &Arc<PartSpec>,
        deduplicate: Option<&[usize]>,
        now_s: Option<i64>,
        control: &WorkControl,
        threads: usize,
    ) -> Result<PendingPart> {
        let (spec, deduplicate) = match now_s {
            Some(now_s) => unexpired_spec(spec, parts, deduplicate, now_s),
            None => (Arc::clone(spec), deduplicate.map(<[_]>::to_vec)),
        };
        // The inputs under the current columns: a merge fills in columns added since.
        let in_spec = |part: &Arc<Part>| Part::new(Arc::clone(&part.stored), Arc::clone(&spec)).map(Arc::new);
        let parts = parts.iter().map(in_spec).collect::<Result<Vec<_>>>()?;
        let bytes = parts.iter().map(|part| part.value_bytes()).sum();
        let spec = &spec.sized(bytes, parts.iter().map(|part| part.row_count()).sum());
        let deduplicate = deduplicate.as_deref();
        if let Some(vertical) = VerticalMerge::plan(&parts, spec, deduplicate, now_s, control, threads) {
            return vertical.write(self);
        }
        let rows = merged_rows(&parts, spec, deduplicate, now_s, control)?;
        self.write_pending(spec, rows, TtlRecorder::new(spec, now_s), threads, false)
    }
}

/// The merged rows of all columns of `parts`, without the rows expired at `now_s`.
fn merged_rows<'a>(
    parts: &[Arc<Part>],
    spec: &Arc<PartSpec>,
    deduplicate: Option<&[usize]>,
    now_s: Option<i64>,
    control: &'a WorkControl,
) -> Result<SortedRows<'a>> {
    let columns: Vec<usize> = (0..spec.columns.len()).collect();
    let inputs = parts.iter().map(|part| {
        let marks = MarkRanges::all(part.mark_count());
        MergeInput { part: Arc::clone(part), marks, first_place: None }
    });
    let rows = MergedRows::open(inputs, &columns, spec.as_ref().clone(), control.metrics())?;
    let held = control.hold(rows.held_bytes());
    let rows = rows.inspect(move |_| {
        let _ = &held;
    });
    Ok(reduced_rows(Box::new(rows), spec, deduplicate.map(<[_]>::to_vec), now_s, control))
}
