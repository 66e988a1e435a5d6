//! The rows of a segment that the key, zone maps, indexes and the search of strings leave.

use std::ops::{Bound, ControlFlow, Range};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::{filter, take};
use basalt_base::{Error, Result};
use basalt_kv::ByteRange;
use basalt_kv::encoding::{EncodedKeys, KeyEncoder};
use basalt_segment::key::SecondaryIndex;
use basalt_segment::search::{SearchMemory, search_encoded_keys, search_keys};
use basalt_segment::value::ZoneBound;
use basalt_segment::{Rank, Segment};
use basalt_succinct::{IndexSpec, RankSet, Snapshot};

use super::plan::{RowsPlan, SearchPlace, TextSearch};
use crate::scan::condition::{ColumnCondition, ValueSet};
use crate::scan::reach::{Reach, reach};

/// An index is used if it leaves at most one row in this many.
const INDEXED_ONE_IN: usize = 8;

/// Ranks of a segment, ascending.
#[derive(Clone, Debug)]
pub(super) enum Ranks {
    Range(Range<Rank>),
    List(Arc<FoundRows>),
}

/// Rows of a segment, and those of their columns that an index has: these need not be read.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundRows {
    /// Ascending.
    pub(super) ranks: Vec<Rank>,
    /// Positions of columns and their values.
    pub(super) known: Vec<(usize, ArrayRef)>,
}

impl FoundRows {
    pub(super) fn slice(&self, from: usize, to: usize) -> FoundRows {
        let known = self.known.iter().map(|(column, values)| (*column, values.slice(from, to - from)));
        FoundRows { ranks: self.ranks[from..to].to_vec(), known: known.collect() }
    }

    fn kept(&self, is_kept: impl Fn(Rank) -> bool) -> Result<FoundRows> {
        let kept = self.ranks.iter().map(|&rank| is_kept(rank)).collect::<BooleanArray>();
        let known = self.known.iter().map(|(column, values)| {
            filter(values, &kept).map(|values| (*column, values)).map_err(Error::of_arrow)
        });
        let ranks = self.ranks.iter().copied().filter(|&rank| is_kept(rank)).collect();
        Ok(FoundRows { ranks, known: known.collect::<Result<_>>()? })
    }
}

impl Ranks {
    pub(super) fn len(&self) -> usize {
        match self {
            Ranks::Range(ranks) => ranks.len(),
            Ranks::List(found) => found.ranks.len(),
        }
    }

    /// The ranks from the `from`-th to before the `to`-th one.
    pub(super) fn part(&self, from: usize, to: usize) -> Ranks {
        match self {
            Ranks::Range(ranks) => Ranks::Range(ranks.start + from as Rank..ranks.start + to as Rank),
            Ranks::List(found) => Ranks::List(Arc::new(found.slice(from, to))),
        }
    }
}

/// What the conditions leave of a segment, and how it was found, for EXPLAIN.
pub(super) struct Candidates {
    pub(super) ranks: Vec<Ranks>,
    pub(super) report: Vec<String>,
}

/// The ranks of the segment at `at` that `conditions` leave, before strings are searched.
pub(super) fn candidates(
    snapshot: &Snapshot,
    at: usize,
    range: &ByteRange,
    conditions: &[ColumnCondition],
) -> Result<Candidates> {
    let segment = snapshot.segments()[at].segment();
    let keys = snapshot.ranks(at, range)?;
    let mut report = vec![format!("key: {} of {} rows", keys.len(), segment.rows())];
    for (index, spec) in snapshot.spec().indexes.iter().enumerate() {
        let Some(found) = indexed(snapshot, segment, index, spec, conditions)? else { continue };
        let found = found.kept(|rank| keys.contains(&rank))?;
        report.push(format!("index {}: {} rows", spec.name, found.ranks.len()));
        return Ok(Candidates { ranks: vec![Ranks::List(Arc::new(found))], report });
    }
    let zoned = conditions.iter().try_fold(vec![keys], |ranges, condition| {
        Ok::<_, basalt_base::Error>(match zone_ranges(snapshot, segment, condition)? {
            Some(zones) => intersection(&ranges, &zones),
            None => ranges,
        })
    })?;
    let left: usize = zoned.iter().map(ExactSizeIterator::len).sum();
    report.push(format!("zone maps: {left} rows"));
    Ok(Candidates { ranks: zoned.into_iter().map(Ranks::Range).collect(), report })
}

/// The rows that a secondary index finds; `None` if the conditions leave too many.
fn indexed(
    snapshot: &Snapshot,
    segment: &Segment,
    at: usize,
    spec: &IndexSpec,
    conditions: &[ColumnCondition],
) -> Result<Option<FoundRows>> {
    let Some(index) = segment.index(at) else { return Ok(None) };
    let columns = &snapshot.spec().rows.columns;
    let encoder = KeyEncoder::new(spec.columns.iter().map(|&column| &columns[column].ty))?;
    let most = segment.rows() as usize / INDEXED_ONE_IN + 1;
    let found = match reach(&spec.columns, conditions)? {
        Reach::Keys(values) => {
            let Some(entries) = entries(index, &encoder.encode(&values)?, most)? else { return Ok(None) };
            with_values(&entries, &spec.columns, &values)?
        }
        Reach::Range(range) => {
            let Some(range) = range.encode(&encoder)? else { return Ok(Some(FoundRows::default())) };
            if range == ByteRange::default() {
                return Ok(None);
            }
            let upper = range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let values = index.range(Bound::Included(&range.lower), upper)?;
            if index.count(values.clone()) > most {
                return Ok(None);
            }
            let mut ranks = Vec::new();
            index.ranks(values, &mut ranks)?;
            ranks.sort_unstable();
            FoundRows { ranks, known: Vec::new() }
        }
    };
    segment.check_present()?;
    Ok(Some(found))
}

/// The ranks of the encoded values, ascending, each with the position of its value; `None` if they are more than `most`.
fn entries(index: &SecondaryIndex, values: &EncodedKeys, most: usize) -> Result<Option<Vec<(Rank, u32)>>> {
    let (mut entries, mut ranks) = (Vec::new(), Vec::new());
    for value in 0..values.len() {
        ranks.clear();
        index.find(values.get(value), &mut ranks)?;
        entries.extend(ranks.iter().map(|&rank| (rank, value as u32)));
        if entries.len() > most {
            return Ok(None);
        }
    }
    entries.sort_unstable();
    // Zero and minus zero are different values and the same entry.
    entries.dedup_by_key(|(rank, _)| *rank);
    Ok(Some(entries))
}

/// The rows of `entries`, whose columns have the values that were looked up.
fn with_values(entries: &[(Rank, u32)], columns: &[usize], values: &[ArrayRef]) -> Result<FoundRows> {
    let picks = UInt32Array::from_iter_values(entries.iter().map(|(_, value)| *value));
    let known = columns.iter().zip(values).filter(|(_, values)| !values.data_type().is_floating());
    let known = known.map(|(&column, values)| {
        take(values, &picks, None).map(|values| (column, values)).map_err(Error::of_arrow)
    });
    let ranks = entries.iter().map(|(rank, _)| *rank).collect();
    Ok(FoundRows { ranks, known: known.collect::<Result<_>>()? })
}

/// The ranges of ranks whose zones may have values that meet the condition; `None` without zone maps.
fn zone_ranges(
    snapshot: &Snapshot,
    segment: &Segment,
    condition: &ColumnCondition,
) -> Result<Option<Vec<Range<Rank>>>> {
    let spec = snapshot.spec();
    let is_grouped = spec.groups.iter().any(|group| group.columns.contains(&condition.column));
    let place = spec.column_of_segment(condition.column).filter(|_| !is_grouped);
    let zones = place.and_then(|at| segment.column(at)).and_then(|column| column.zones());
    let Some(zones) = zones else { return Ok(None) };
    let bound = |value: &ArrayRef, row: usize| ZoneBound::of(value, row);
    let (low, high) = match &condition.values {
        ValueSet::Points(points) if points.is_empty() => return Ok(Some(Vec::new())),
        ValueSet::Points(points) => (bound(points, 0)?, bound(points, points.len() - 1)?),
        ValueSet::Range { low, high } => {
            let bound = |value: &Option<(ArrayRef, bool)>| match value {
                Some((value, _)) => bound(value, 0),
                None => Ok(None),
            };
            (bound(low)?, bound(high)?)
        }
    };
    Ok(Some(zones.matching(low, high)))
}

/// The ranks that are in both of two ascending lists of ranges.
fn intersection(one: &[Range<Rank>], other: &[Range<Rank>]) -> Vec<Range<Rank>> {
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    let mut both = Vec::new();
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        let range = one.start.max(other.start)..one.end.min(other.end);
        if !range.is_empty() {
            both.push(range);
        }
        if one.end <= other.end {
            left.next()
        } else {
            right.next()
        };
    }
    both
}

/// Whether the strings of `ranks` are searched: the rows that are found need only the rest of the filter. A list is
/// short, so its rows are tested when they are read.
pub(super) fn is_searched(plan: &RowsPlan, segment: &Segment, ranks: &Ranks) -> bool {
    let Some(search) = &plan.search else { return false };
    let is_there = match search.place {
        SearchPlace::Key | SearchPlace::EncodedKey(_) => true,
        // A segment may be older than the column.
        SearchPlace::Column { at, .. } => {
            segment.column(at).is_some_and(|column| column.store().as_strings().is_some())
        }
    };
    is_there && matches!(ranks, Ranks::Range(_))
}

/// The rows of `ranks` that are in the table and that the search finds, if it is made. `memory` is of the segment.
pub(super) fn matching(
    plan: &RowsPlan,
    segment: &Segment,
    ranks: &Ranks,
    dead: &RankSet,
    memory: &mut SearchMemory,
) -> Result<FoundRows> {
    let mut left = Vec::new();
    let found = match (ranks, &plan.search) {
        (Ranks::List(found), _) => found.kept(|rank| !dead.contains(rank))?,
        (Ranks::Range(range), Some(search)) if is_searched(plan, segment, ranks) => {
            find(search, segment, range.clone(), memory, &mut |found| dead.missing_of(found, &mut left))?;
            FoundRows { ranks: left, known: Vec::new() }
        }
        (Ranks::Range(range), _) => {
            dead.missing_of(range.clone(), &mut left);
            FoundRows { ranks: left, known: Vec::new() }
        }
    };
    segment.check_present()?;
    Ok(found)
}

fn find(
    search: &TextSearch,
    segment: &Segment,
    ranks: Range<Rank>,
    memory: &mut SearchMemory,
    found: &mut dyn FnMut(Range<Rank>),
) -> Result<()> {
    let mut visit = |ranks: Range<Rank>| {
        found(ranks);
        Ok(ControlFlow::Continue(()))
    };
    match search.place {
        SearchPlace::Key => search_keys(segment.keys(), &search.pattern, ranks, &mut visit),
        SearchPlace::EncodedKey(form) => {
            search_encoded_keys(segment.keys(), form, &search.pattern, ranks, &mut visit)
        }
        SearchPlace::Column { at, .. } => match segment.column(at) {
            Some(column) => {
                let mut visit = |rank: Rank| visit(rank..rank + 1);
                column.search(&search.pattern, memory, ranks, &mut visit).map(|_| ())
            }
            None => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_in_both_lists_are_left() {
        let check = |one: &[Range<Rank>], other: &[Range<Rank>], expected: &[Range<Rank>]| {
            assert_eq!(intersection(one, other), expected);
            assert_eq!(intersection(other, one), expected);
        };
        check(&[0..10, 20..30], &[5..25, 40..41], &[5..10, 20..25]);
        check(&[0..10, 30..31], &[10..20, 31..32], &[]);
        check(&[0..3, 4..6], &[0..1, 2..5, 5..9], &[0..1, 2..3, 4..5, 5..6]);
        check(&[], &[0..9, 10..11], &[]);
    }
}
