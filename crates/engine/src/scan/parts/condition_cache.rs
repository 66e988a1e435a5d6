//! The query condition cache: granules without a row that meets a condition. The next query with the same condition
//! skips them.
//!
//! Parts never change, so an entry stays true until the table's columns change: then the cache is emptied. The key of an
//! entry is the text of its condition. Only comparisons, logic and searches with constants are cached: the text of
//! anything else does not determine its result.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use basalt_parts::{MarkRanges, Part};
use parking_lot::Mutex;

use super::filter_step::FilterStep;

/// Bytes that the entries of one table take at most, about.
const BYTES_MAX: usize = 8 << 20;
/// Bytes of an entry in addition to its bits and texts.
const ENTRY_BYTES: usize = 128;

/// The cache of one table.
#[derive(Debug, Default)]
pub(crate) struct ConditionCache {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// How often the cache was emptied: a query that began before adds nothing.
    epoch: u64,
    entries: HashMap<Key, Vec<u64>>,
    /// The oldest goes first.
    order: VecDeque<Key>,
    bytes: usize,
}

/// A part's name and a condition's text.
type Key = (Arc<str>, Arc<str>);

impl ConditionCache {
    /// Read before the parts are: an ALTER after that makes the entries of a query useless, not wrong.
    pub(crate) fn epoch(&self) -> u64 {
        self.entries.lock().epoch
    }

    /// Empties the cache: the columns of the table have changed.
    pub(crate) fn forget(&self) {
        let mut entries = self.entries.lock();
        *entries = Entries { epoch: entries.epoch + 1, ..Entries::default() };
    }

    /// The cache for the conditions of one query. `None` if none of them can be cached.
    pub(super) fn of_query(
        self: &Arc<ConditionCache>,
        epoch: u64,
        steps: &[FilterStep],
    ) -> Option<CachedConditions> {
        let texts = texts(steps);
        (!texts.is_empty()).then(|| CachedConditions { table: Arc::clone(self), epoch, texts })
    }
}

/// The cache of a table for the conditions of one query.
#[derive(Debug)]
pub(super) struct CachedConditions {
    table: Arc<ConditionCache>,
    epoch: u64,
    /// For each of the first steps, the text of its condition, and of all conditions up to it.
    texts: Vec<(Arc<str>, Arc<str>)>,
}

impl CachedConditions {
    /// `marks` without the granules that are known to have no row for the query, and whether there was an entry.
    pub(super) fn left(&self, part: &Part, marks: MarkRanges) -> (MarkRanges, bool) {
        let name: Arc<str> = part.name().to_string().into();
        let entries = self.table.entries.lock();
        if entries.epoch != self.epoch {
            return (marks, false);
        }
        let conditions = self.texts.iter().flat_map(|(own, all)| [own, all]);
        let known: Vec<&Vec<u64>> = conditions
            .filter_map(|text| entries.entries.get(&(Arc::clone(&name), Arc::clone(text))))
            .collect();
        if known.is_empty() {
            return (marks, false);
        }
        let is_missed = |mark: usize| {
            known.iter().any(|bits| bits.get(mark / 64).is_some_and(|word| word >> (mark % 64) & 1 == 1))
        };
        let mut left: Vec<Range<usize>> = Vec::new();
        for mark in marks.ranges.iter().flat_map(Clone::clone).filter(|mark| !is_missed(*mark)) {
            match left.last_mut() {
                Some(last) if last.end == mark => last.end += 1,
                _ => left.push(mark..mark + 1),
            }
        }
        (MarkRanges { ranges: left, total: marks.total }, true)
    }

    /// No row of `missed` met the conditions up to step `step`; `alone` if every row was tested for that one.
    pub(super) fn add(&self, part: &Part, step: usize, alone: bool, missed: &[Range<usize>]) {
        let Some((own, all)) = self.texts.get(step) else { return };
        let mut entries = self.table.entries.lock();
        if entries.epoch != self.epoch || missed.is_empty() {
            return;
        }
        let key = (Arc::from(part.name().to_string()), Arc::clone(if alone { own } else { all }));
        entries.add(key, part.mark_count(), missed);
    }
}

impl Entries {
    fn add(&mut self, key: Key, marks: usize, missed: &[Range<usize>]) {
        let words = marks.div_ceil(64);
        if !self.entries.contains_key(&key) {
            self.bytes += bytes_of(&key, words);
            self.order.push_back(key.clone());
            self.entries.insert(key.clone(), vec![0; words]);
        }
        if let Some(bits) = self.entries.get_mut(&key) {
            for mark in missed.iter().flat_map(Clone::clone) {
                bits[mark / 64] |= 1 << (mark % 64);
            }
        }
        while self.bytes > BYTES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            let words = self.entries.remove(&oldest).map_or(0, |bits| bits.len());
            self.bytes -= bytes_of(&oldest, words);
        }
    }
}

fn bytes_of(key: &Key, words: usize) -> usize {
    ENTRY_BYTES + key.0.len() + key.1.len() + words * size_of::<u64>()
}

/// Texts for as many of the first steps as can be cached.
fn texts(steps: &[FilterStep]) -> Vec<(Arc<str>, Arc<str>)> {
    let mut all = String::new();
    let mut texts = Vec::new();
    for step in steps.iter().take_while(|step| step.conjunct.is_told_by_text() && !step.is_of_snapshot) {
        let own = step.conjunct.whole_text();
        if !all.is_empty() {
            all.push_str(" AND ");
        }
        all.push_str(&own);
        texts.push((Arc::from(own), Arc::from(all.as_str())));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        (Arc::from("all_1_1_0"), Arc::from(text))
    }

    #[test]
    fn notes_of_one_condition_add_up() {
        let mut entries = Entries::default();
        entries.add(key("a"), 100, &[0..2, 64..65]);
        entries.add(key("a"), 100, &[63..64, 99..100]);
        assert_eq!(entries.entries[&key("a")], vec![0b11 | 1 << 63, 1 | 1 << 35]);
        assert_eq!(entries.order.len(), 1);
    }

    #[test]
    fn the_oldest_notes_go_when_there_are_too_many() {
        let mut entries = Entries::default();
        let long = "x".repeat(BYTES_MAX / 4);
        for at in 0..8 {
            entries.add(key(&format!("{at}{long}")), 3, &[0..1, 2..3]);
        }
        assert!(entries.bytes <= BYTES_MAX && entries.entries.len() == entries.order.len());
        assert!(entries.entries.contains_key(&key(&format!("7{long}"))));
        assert!(!entries.entries.contains_key(&key(&format!("0{long}"))));
    }
}
