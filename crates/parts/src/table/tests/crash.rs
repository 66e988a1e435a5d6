//! A crash at every sync of a workload: acknowledged changes survive, and nothing is torn.

use std::path::Path;

use basalt_base::fs::{Crash, FaultyStorage, Storage};

use super::{TableParts, TestTable, compact_spec, number_spec, numbers, open, read_numbers, sorted};
use crate::error::Result;
use crate::spec::PartSpec;

/// Inserts, merges, drops all rows, inserts again. Returns the acknowledged state: the rows that must exist, and
/// those that may.
fn workload(parts: &TableParts) -> Acknowledged {
    let mut rows = Acknowledged::default();
    let finished: Result<()> = (|| {
        for insert in 0..3 {
            rows.insert(parts, insert)?;
        }
        parts.optimize_final(&Default::default(), &Default::default())?;
        rows.insert(parts, 3)?;
        rows.maybe_gone = std::mem::take(&mut rows.there);
        parts.truncate()?;
        rows.maybe_gone.clear();
        rows.insert(parts, 4)?;
        rows.insert(parts, 5)?;
        parts.optimize_final(&Default::default(), &Default::default())?;
        Ok(())
    })();
    rows.is_finished = finished.is_ok();
    rows
}

#[derive(Default)]
struct Acknowledged {
    there: Vec<u64>,
    /// Rows of a failed insert, which may have happened.
    maybe_there: Vec<u64>,
    /// Rows of a failed truncate, which may have removed all or none of them.
    maybe_gone: Vec<u64>,
    is_finished: bool,
}

impl Acknowledged {
    fn insert(&mut self, parts: &TableParts, insert: u64) -> Result<()> {
        let range = insert * 10..insert * 10 + 7;
        self.maybe_there = range.clone().collect();
        parts.insert(numbers(range))?;
        self.there.append(&mut self.maybe_there);
        Ok(())
    }

    fn allows(&self, found: &[u64]) -> bool {
        let with = |parts: &[&[u64]]| sorted(parts.concat());
        let (there, maybe, gone) = (&self.there[..], &self.maybe_there[..], &self.maybe_gone[..]);
        [with(&[there]), with(&[there, maybe]), with(&[there, gone])].iter().any(|allowed| allowed == found)
    }
}

#[test]
fn acknowledged_rows_survive_a_crash_at_every_sync() {
    for spec in [number_spec(), compact_spec()] {
        let dry = TestTable::with_spec(spec.clone());
        let opened_at = dry.storage.sync_count();
        assert!(workload(&dry.parts).is_finished);
        let syncs = dry.storage.sync_count() - opened_at;
        assert!(syncs > 20, "{syncs} syncs");
        for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
            for sync in 0..=syncs {
                check_crash(&spec, crash, sync);
            }
        }
    }
}

fn check_crash(spec: &PartSpec, crash: Crash, sync: u64) {
    let TestTable { storage, parts } = TestTable::with_spec(spec.clone());
    storage.stop_at_sync(storage.sync_count() + sync);
    let rows = workload(&parts);
    drop(parts);
    storage.crash(crash);
    let parts = open(&storage, spec.clone()).unwrap();
    assert!(parts.detached().is_empty(), "{crash:?} at sync {sync}: {:?}", parts.detached());
    let found = sorted(read_numbers(&parts).unwrap());
    assert!(rows.allows(&found), "{crash:?} at sync {sync}: found {found:?}, acknowledged {:?}", rows.there);
    // The table stays usable, and a second crash right after recovery changes nothing.
    storage.crash(crash);
    let parts = open(&storage, spec.clone()).unwrap();
    assert_eq!(sorted(read_numbers(&parts).unwrap()), found, "{crash:?} at sync {sync}");
    parts.insert(numbers(100..105)).unwrap();
    assert_eq!(read_numbers(&parts).unwrap().len(), found.len() + 5);
    assert!(storage.list(&Path::new(super::DIR).join("tmp")).unwrap().is_empty());
}

/// After a failed sync: stop writing, keep reading, report it.
#[test]
fn table_is_closed_for_writing_after_publishing_failed() {
    let TestTable { storage, parts } = TestTable::new();
    parts.insert(numbers(0..5)).unwrap();
    let before = storage.sync_count();
    parts.insert(numbers(5..9)).unwrap();
    // The last sync of an insert is that of the table's directory.
    storage.stop_at_sync(storage.sync_count() + (storage.sync_count() - before) - 1);
    parts.insert(numbers(9..12)).unwrap_err();
    resume(&storage);
    let error = parts.insert(numbers(12..13)).unwrap_err();
    assert!(error.to_string().contains("closed for writing"), "{error}");
    assert_eq!(read_numbers(&parts).unwrap(), (0..9).collect::<Vec<_>>());
}

fn resume(storage: &FaultyStorage) {
    storage.crash(Crash::TearUnsynced);
}
