//! Granules of which a query found out that no row meets a condition: the next query with the same
//! condition leaves them out unread.
//!
//! Parts never change, so what was found stays true until the table's columns do: then everything is
//! forgotten. A condition is known by its text, which says all about it only for comparisons, logic and
//! searches with constants; others are not kept.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use basalt_parts::{MarkRanges, Part};
use parking_lot::Mutex;

use super::plan::Stage;

/// Bytes that the notes of one table take at most, about.
const BYTES_MAX: usize = 8 << 20;
/// What an entry takes beside its bits and texts.
const ENTRY_BYTES: usize = 128;

/// The notes of one table.
#[derive(Debug, Default)]
pub(crate) struct MissedGranules {
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    /// Counts how often everything was forgotten: a query that began before has nothing to add.
    epoch: u64,
    entries: HashMap<Key, Vec<u64>>,
    /// The oldest goes first.
    order: VecDeque<Key>,
    bytes: usize,
}

/// A part's name and a condition's text.
type Key = (Arc<str>, Arc<str>);

impl MissedGranules {
    /// To be read before the parts are: an ALTER behind it makes a query's notes useless, not wrong.
    pub(crate) fn epoch(&self) -> u64 {
        self.notes.lock().epoch
    }

    /// Forgets all: the columns of the table are others.
    pub(crate) fn forget(&self) {
        let mut notes = self.notes.lock();
        *notes = Notes { epoch: notes.epoch + 1, ..Notes::default() };
    }

    /// What one query reads and adds, with the texts of its conditions. `None` if none can be kept.
    pub(super) fn of_query(self: &Arc<MissedGranules>, epoch: u64, stages: &[Stage]) -> Option<QueryMisses> {
        let texts = texts(stages);
        (!texts.is_empty()).then(|| QueryMisses { table: Arc::clone(self), epoch, texts })
    }
}

/// The notes of a table for one query.
#[derive(Debug)]
pub(super) struct QueryMisses {
    table: Arc<MissedGranules>,
    epoch: u64,
    /// Of the first stages: of each the text of its condition, and of all conditions up to it.
    texts: Vec<(Arc<str>, Arc<str>)>,
}

impl QueryMisses {
    /// `marks` without the granules that are known to have no row for the query; whether any note was
    /// found.
    pub(super) fn left(&self, part: &Part, marks: MarkRanges) -> (MarkRanges, bool) {
        let name: Arc<str> = part.name().to_string().into();
        let notes = self.table.notes.lock();
        if notes.epoch != self.epoch {
            return (marks, false);
        }
        let conditions = self.texts.iter().flat_map(|(own, all)| [own, all]);
        let known: Vec<&Vec<u64>> =
            conditions.filter_map(|text| notes.entries.get(&(Arc::clone(&name), Arc::clone(text)))).collect();
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

    /// No row of `missed` met the conditions up to stage `stage`; `alone`: every row was asked that one.
    pub(super) fn note(&self, part: &Part, stage: usize, alone: bool, missed: &[Range<usize>]) {
        let Some((own, all)) = self.texts.get(stage) else { return };
        let mut notes = self.table.notes.lock();
        if notes.epoch != self.epoch || missed.is_empty() {
            return;
        }
        let key = (Arc::from(part.name().to_string()), Arc::clone(if alone { own } else { all }));
        notes.add(key, part.mark_count(), missed);
    }
}

impl Notes {
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

/// Texts for as many of the first stages as can be kept.
fn texts(stages: &[Stage]) -> Vec<(Arc<str>, Arc<str>)> {
    let mut all = String::new();
    let mut texts = Vec::new();
    for stage in stages.iter().take_while(|stage| stage.conjunct.is_told_by_text() && !stage.is_of_snapshot) {
        let own = stage.conjunct.to_string();
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
        let mut notes = Notes::default();
        notes.add(key("a"), 100, &[0..2, 64..65]);
        notes.add(key("a"), 100, &[63..64, 99..100]);
        assert_eq!(notes.entries[&key("a")], vec![0b11 | 1 << 63, 1 | 1 << 35]);
        assert_eq!(notes.order.len(), 1);
    }

    #[test]
    fn the_oldest_notes_go_when_there_are_too_many() {
        let mut notes = Notes::default();
        let long = "x".repeat(BYTES_MAX / 4);
        for at in 0..8 {
            notes.add(key(&format!("{at}{long}")), 3, &[0..1, 2..3]);
        }
        assert!(notes.bytes <= BYTES_MAX && notes.entries.len() == notes.order.len());
        assert!(notes.entries.contains_key(&key(&format!("7{long}"))));
        assert!(!notes.entries.contains_key(&key(&format!("0{long}"))));
    }
}
