//! Selects merges of expired rows.
//!
//! Parts whose rows have all expired are dropped at once, without being read. Of the others, those that expired
//! first are merged, but each partition only once in a while: a merge for a few rows rewrites all of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::active::TableParts;
use super::control::WorkControl;
use super::events::MergeReason;
use super::lock::lock;
use super::select::MERGED_PARTS_MAX;
use super::ttl_times::delay_next;
use crate::part::view::Part;
use crate::spec::PartSpec;
use crate::ttl::bounds::TtlBounds;
use crate::ttl::rule::{TtlAction, TtlRule};

const US_A_SECOND: u64 = 1_000_000;

/// Limits of TTL merges.
#[derive(Clone, Copy, Debug)]
pub struct TtlMergeLimits {
    /// The most bytes of the inputs together.
    pub bytes_max: u64,
    /// Seconds between two merges of a partition that remove or change rows.
    pub delete_timeout_s: u64,
    /// Seconds between two merges of a partition that write columns with other codecs.
    pub recompress_timeout_s: u64,
    /// Only drop parts whose rows have all expired.
    pub only_drop_parts: bool,
}

/// A TTL merge.
#[derive(Clone, Debug)]
pub struct TtlMerge {
    pub parts: Vec<Arc<Part>>,
    pub reason: MergeReason,
}

impl TableParts {
    /// Unclaimed parts that are worth a merge because of expired rows, if there are any.
    pub fn select_ttl_merge(&self, limits: &TtlMergeLimits) -> Option<TtlMerge> {
        let spec = self.spec();
        if spec.ttl.is_empty() {
            return None;
        }
        let now_s = self.now_s();
        if let Some(parts) = self.select_expired(&spec, now_s) {
            return Some(TtlMerge { parts, reason: MergeReason::TtlDrop });
        }
        let mut times = lock(&self.ttl_times);
        if !limits.only_drop_parts {
            let due = |part: &Part| part.due(&spec, |rule| !rule.is_recompression());
            if let Some(parts) = self.select_due(due, now_s, limits.bytes_max, &times.delete) {
                delay_next(&mut times.delete, &parts, now_s, limits.delete_timeout_s);
                return Some(TtlMerge { parts, reason: MergeReason::TtlDelete });
            }
        }
        let due = |part: &Part| part.due(&spec, TtlRule::is_recompression);
        let parts = self.select_due(due, now_s, limits.bytes_max, &times.recompress)?;
        delay_next(&mut times.recompress, &parts, now_s, limits.recompress_timeout_s);
        Some(TtlMerge { parts, reason: MergeReason::TtlRecompress })
    }

    /// Neighbours whose rows have all expired.
    fn select_expired(&self, spec: &PartSpec, now_s: i64) -> Option<Vec<Arc<Part>>> {
        let parts = self.snapshot();
        let is_gone = |part: &Part| !self.claims.is_busy(part) && part.is_expired(spec, Some(now_s));
        let mut runs = parts.chunk_by(|a, b| is_gone(a) && is_gone(b) && self.may_join(a, b));
        runs.find(|run| is_gone(&run[0])).map(<[_]>::to_vec)
    }

    /// The part that expired first, and its due successors.
    fn select_due(
        &self,
        due: impl Fn(&Part) -> Option<i64>,
        now_s: i64,
        bytes_max: u64,
        times: &HashMap<String, i64>,
    ) -> Option<Vec<Arc<Part>>> {
        let parts = self.snapshot();
        let is_due = |part: &Arc<Part>| {
            let may_begin = times.get(&part.name().partition).is_none_or(|&time| time <= now_s);
            may_begin && due(part).is_some_and(|due| due <= now_s) && !self.claims.is_busy(part)
        };
        let due_ones = parts.iter().enumerate().filter(|(_, part)| is_due(part));
        let (first, _) = due_ones.min_by_key(|(_, part)| due(part))?;
        let mut bytes = 0;
        let run = parts[first..].iter().take(MERGED_PARTS_MAX).take_while(|part| {
            bytes += part.compressed_bytes();
            bytes <= bytes_max && is_due(part) && self.may_join(&parts[first], part)
        });
        let run: Vec<Arc<Part>> = run.cloned().collect();
        (!run.is_empty()).then_some(run)
    }

    /// The time at which a merge applies the TTL; `None` if it does not.
    pub(super) fn expires_at(&self, spec: &PartSpec, control: &WorkControl) -> Option<i64> {
        (!spec.ttl.is_empty() && !control.keeps_expired()).then(|| self.now_s())
    }

    fn now_s(&self) -> i64 {
        i64::try_from(self.clock.now_us() / US_A_SECOND).unwrap_or(i64::MAX)
    }
}

/// The spec that a merge of `parts` at `now_s` writes, and its DEDUPLICATE BY: without columns whose values have
/// all expired, and with the codecs of recompression rules that are due.
pub(super) fn unexpired_spec(
    spec: &Arc<PartSpec>,
    parts: &[Arc<Part>],
    deduplicate: Option<&[usize]>,
    now_s: i64,
) -> (Arc<PartSpec>, Option<Vec<usize>>) {
    let is_kept = |column: &usize| {
        let is_asked = deduplicate.is_some_and(|by| by.contains(column));
        is_asked || !is_lost(spec, *column, parts, now_s)
    };
    let mut kept: Vec<usize> = (0..spec.columns.len()).filter(is_kept).collect();
    if kept.is_empty() {
        kept.push(0);
    }
    let mut written = if kept.len() == spec.columns.len() { (**spec).clone() } else { spec.only(&kept) };
    recompress(&mut written, spec, parts, now_s);
    let place = |column: &usize| kept.iter().position(|other| other == column);
    (Arc::new(written), deduplicate.map(|by| by.iter().filter_map(place).collect()))
}

/// Whether all values of the column at `position` are its default because they have expired.
fn is_lost(spec: &PartSpec, position: usize, parts: &[Arc<Part>], now_s: i64) -> bool {
    let name = &spec.columns[position].name;
    let clears = |rule: &&TtlRule| matches!(&rule.action, TtlAction::Clear { column, default: None } if column == name);
    let Some(rule) = spec.ttl.iter().find(clears) else { return false };
    let all_expired = |bounds: &TtlBounds| bounds.all_expired(now_s);
    let is_needed = spec.is_in_key(position)
        || spec.mode.columns().contains(&position)
        || spec.ttl.iter().any(|other| other.name != rule.name && other.needs(name))
        || rule.expiry.columns().contains(name);
    !is_needed
        && parts.iter().all(|part| part.ttl_bounds(&rule.name).is_some_and(all_expired))
        && parts.iter().any(|part| part.row_count() > 0)
}

/// Sets the codecs of the latest rule by which all rows have expired.
fn recompress(written: &mut PartSpec, spec: &PartSpec, parts: &[Arc<Part>], now_s: i64) {
    let last = |rule: &TtlRule| {
        let greatest = parts.iter().map(|part| part.ttl_bounds(&rule.name)?.range().map(|range| range.1));
        greatest.collect::<Option<Vec<i64>>>()?.into_iter().max().filter(|&greatest| greatest <= now_s)
    };
    let rules = spec.ttl.iter().filter(|rule| rule.is_recompression());
    let Some((_, rule)) = rules.filter_map(|rule| Some((last(rule)?, rule))).max_by_key(|(at, _)| *at) else {
        return;
    };
    let TtlAction::Recompress { codecs } = &rule.action else { return };
    for (name, chain) in codecs {
        if let Some(position) = written.columns.position(name) {
            written.codecs[position] = chain.clone();
        }
    }
}

impl Part {
    /// The part's bounds for the rule called `name`; `None` if it was written without the rule.
    pub(super) fn ttl_bounds(&self, name: &str) -> Option<&TtlBounds> {
        self.stored.meta.ttl.iter().find(|bounds| bounds.name == name)
    }

    /// Whether a rule deletes all rows; without a time nothing has expired.
    pub(super) fn is_expired(&self, spec: &PartSpec, now_s: Option<i64>) -> bool {
        let Some(now_s) = now_s else { return false };
        let deletes = |rule: &&TtlRule| matches!(rule.action, TtlAction::Delete { .. });
        let bounds = spec.ttl.iter().filter(deletes).filter_map(|rule| self.ttl_bounds(&rule.name));
        self.row_count() > 0 && bounds.into_iter().any(|bounds| bounds.all_expired(now_s))
    }

    /// Whether a TTL merge of the part at `now_s` may change it.
    pub(super) fn may_expire(&self, spec: &PartSpec, now_s: Option<i64>) -> bool {
        let Some(now_s) = now_s else { return false };
        spec.ttl.iter().any(|rule| self.ttl_bounds(&rule.name).is_none_or(|bounds| bounds.is_due(now_s)))
    }

    /// The earliest time at which one of the `wanted` rules is due.
    fn due(&self, spec: &PartSpec, wanted: impl Fn(&TtlRule) -> bool) -> Option<i64> {
        let rules = spec.ttl.iter().filter(|rule| wanted(rule));
        rules.filter_map(|rule| self.ttl_bounds(&rule.name)?.due()).min()
    }
}
