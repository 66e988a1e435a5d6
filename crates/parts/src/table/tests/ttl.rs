//! Rows and values are removed when a merge finds them expired, never before and never in part.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::clock::ManualClock;
use basalt_base::fs::{Crash, FaultyStorage};
use proptest::prelude::*;

use super::{DIR, files};
use crate::column::plain::plain;
use crate::error::Result;
use crate::limits::MergeLimits;
use crate::spec::PartSpec;
use crate::table::{MergeReason, TableParts, TtlMergeLimits, WorkControl};
use crate::ttl::rule::{TtlAction, TtlRule};
use crate::ttl::tests::{Row, batch_of, expiring_spec, rows_of, rule};

const SECOND: u64 = 1_000_000;

/// Limits under which no merge waits for another.
const AT_ONCE: TtlMergeLimits = TtlMergeLimits {
    bytes_max: u64::MAX,
    delete_timeout_s: 0,
    recompress_timeout_s: 0,
    only_drop_parts: false,
};

/// A table on an in-memory disk with its clock.
struct Expiring {
    storage: FaultyStorage,
    clock: Arc<ManualClock>,
    spec: PartSpec,
    parts: TableParts,
}

impl Expiring {
    fn new(ttl: Vec<TtlRule>) -> Expiring {
        let (storage, clock) = (FaultyStorage::new(), Arc::new(ManualClock::at(10 * SECOND)));
        let spec = expiring_spec(ttl);
        let parts = open(&storage, &clock, &spec).unwrap();
        Expiring { storage, clock, spec, parts }
    }

    fn reopen(self) -> Expiring {
        drop(self.parts);
        let parts = open(&self.storage, &self.clock, &self.spec).unwrap();
        Expiring { parts, ..self }
    }

    fn insert(&self, rows: &[Row]) {
        self.parts.insert(batch_of(&self.spec, rows)).unwrap();
    }

    fn rows(&self) -> Vec<Row> {
        rows_in(&self.parts)
    }

    /// Runs all merges that are due because of the TTL; returns their reasons.
    fn expire(&self, limits: &TtlMergeLimits) -> Vec<MergeReason> {
        let mut kinds = Vec::new();
        while let Some(merge) = self.parts.select_ttl_merge(limits) {
            self.parts.merge(&merge.parts, &WorkControl::default()).unwrap();
            kinds.push(merge.reason);
            assert!(kinds.len() < 100, "merges without an end");
        }
        kinds
    }

    fn has_file(&self, name: &str) -> bool {
        files(&self.storage, Path::new(DIR)).iter().any(|path| path.ends_with(name))
    }
}

fn open(storage: &FaultyStorage, clock: &Arc<ManualClock>, spec: &PartSpec) -> Result<TableParts> {
    let clock = Arc::clone(clock);
    TableParts::open_with_clock(Arc::new(storage.clone()), clock, PathBuf::from(DIR), spec.clone())
}

fn rows_in(parts: &TableParts) -> Vec<Row> {
    let mut rows = Vec::new();
    for part in parts.snapshot().iter() {
        let batch = part.read(&[0, 1, 2], 0..part.mark_count(), &Default::default()).unwrap();
        let columns = batch.columns().iter().map(plain).collect();
        let batch = arrow::array::RecordBatch::try_new(batch.schema(), columns).unwrap();
        rows.extend(rows_of(&batch));
    }
    sorted(rows)
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_unstable();
    rows
}

fn delete() -> TtlRule {
    rule("e", "e", 1, TtlAction::Delete { has_condition: false })
}

/// `v` is cleared after half of the time.
fn clear() -> TtlRule {
    rule("v e / 2", "e", 2, TtlAction::Clear { column: "v".to_owned(), default: None })
}

#[test]
fn expired_rows_stay_until_a_merge_looks() {
    let table = Expiring::new(vec![delete()]);
    table.insert(&[(1, 11, 1), (2, 0, 2), (3, 20, 3)]);
    assert!(table.expire(&AT_ONCE).is_empty());
    table.clock.advance(SECOND);
    assert_eq!(table.rows().len(), 3);
    assert_eq!(table.expire(&AT_ONCE), [MergeReason::TtlDelete]);
    assert_eq!(table.rows(), [(2, 0, 2), (3, 20, 3)]);
    let part = &table.parts.stats()[0];
    assert_eq!((part.name.to_string(), part.ttl[0].range), ("all_1_1_1".to_owned(), Some((20, 20))));
    table.clock.advance(100 * SECOND);
    let table = table.reopen();
    assert_eq!(table.expire(&AT_ONCE), [MergeReason::TtlDelete]);
    assert_eq!(table.rows(), [(2, 0, 2)], "a row without a time never expires");
}

#[test]
fn part_that_has_wholly_expired_goes_unread() {
    let table = Expiring::new(vec![delete()]);
    table.insert(&[(1, 11, 1), (2, 12, 2)]);
    table.insert(&[(3, 12, 3)]);
    table.insert(&[(4, 99, 4)]);
    table.clock.advance(2 * SECOND);
    let only_drop_parts = TtlMergeLimits { only_drop_parts: true, ..AT_ONCE };
    let merge = table.parts.select_ttl_merge(&only_drop_parts).unwrap();
    assert_eq!((merge.reason, merge.parts.len()), (MergeReason::TtlDrop, 2));
    let control = WorkControl::default();
    table.parts.merge(&merge.parts, &control).unwrap();
    assert_eq!((control.rows_read(), table.rows()), (0, vec![(4, 99, 4)]));
    drop(merge);
    table.insert(&[(5, 1, 5), (6, 99, 6)]);
    assert!(table.expire(&only_drop_parts).is_empty());
}

#[test]
fn partition_rests_between_two_merges() {
    let table = Expiring::new(vec![delete()]);
    let limits = TtlMergeLimits { delete_timeout_s: 60, ..AT_ONCE };
    let mixed = |key: u64| table.insert(&[(key, 5, 0), (key, 1000, 0)]);
    mixed(1);
    assert_eq!(table.expire(&limits).len(), 1);
    mixed(2);
    table.clock.advance(59 * SECOND);
    assert!(table.expire(&limits).is_empty());
    table.clock.advance(SECOND);
    assert_eq!(table.expire(&limits).len(), 1);
}

#[test]
fn optimize_final_removes_what_has_expired_unless_it_is_told_to_keep_it() {
    let table = Expiring::new(vec![delete()]);
    table.insert(&[(1, 5, 1), (2, 50, 2)]);
    table.parts.optimize_final(&Default::default(), &WorkControl::keeping_expired()).unwrap();
    assert_eq!(table.rows().len(), 2);
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(table.rows(), [(2, 50, 2)]);
    let name = table.parts.stats()[0].name.clone();
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(table.parts.stats()[0].name, name, "nothing to do");
}

#[test]
fn column_whose_values_have_all_expired_has_no_file() {
    let table = Expiring::new(vec![clear()]);
    table.insert(&[(1, 18, 7), (2, 40, 8)]);
    table.expire(&AT_ONCE);
    assert_eq!(table.rows(), [(1, 18, 0), (2, 40, 8)]);
    assert!(table.has_file("v.col"));
    table.clock.advance(10 * SECOND);
    assert_eq!(table.expire(&AT_ONCE), [MergeReason::TtlDelete]);
    assert_eq!(table.rows(), [(1, 18, 0), (2, 40, 0)]);
    assert!(!table.has_file("v.col"));
    let table = table.reopen();
    assert!(table.expire(&AT_ONCE).is_empty());
    table.insert(&[(3, 1000, 9)]);
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(table.rows(), [(1, 18, 0), (2, 40, 0), (3, 1000, 9)]);
    assert!(table.has_file("v.col"));
}

#[test]
fn part_that_knows_nothing_of_a_rule_learns_it_at_its_next_merge() {
    let table = Expiring::new(Vec::new());
    table.insert(&[(1, 5, 1), (2, 50, 2)]);
    table.parts.change_spec(expiring_spec(vec![delete()])).unwrap();
    assert!(table.expire(&AT_ONCE).is_empty());
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(table.rows(), [(2, 50, 2)]);
}

#[test]
fn columns_are_written_with_another_codec_when_all_has_expired() {
    let chain: basalt_codec::CodecChain =
        basalt_codec::CodecChain::parse([("ZSTD", vec![])], &basalt_base::SqlType::UInt64).unwrap();
    let codecs = vec![("v".to_owned(), chain.clone())];
    let table = Expiring::new(vec![rule("r", "e", 1, TtlAction::Recompress { codecs })]);
    table.insert(&[(1, 5, 1), (2, 12, 2)]);
    assert!(table.expire(&AT_ONCE).is_empty());
    table.clock.advance(2 * SECOND);
    assert_eq!(table.expire(&AT_ONCE), [MergeReason::TtlRecompress]);
    let part = &table.parts.stats()[0];
    assert_eq!(part.columns[2].codec, chain.to_string());
    assert_eq!(table.rows().len(), 2);
}

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<Row>),
    Advance(u64),
    Merge(usize, usize),
    Expire,
    OptimizeFinal,
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prop::collection::vec((0..9_u64, 0..60_u64, 1..9_u64), 1..20).prop_map(Op::Insert),
        3 => (0..20_u64).prop_map(Op::Advance),
        2 => (0..4_usize, 1..4_usize).prop_map(|(start, count)| Op::Merge(start, count)),
        2 => Just(Op::Expire),
        1 => Just(Op::OptimizeFinal),
        1 => Just(Op::Reopen),
    ]
}

/// Rows by the number of their insert; a merge of some of them applies the TTL.
struct Model {
    inserts: Vec<Vec<Row>>,
    now: u64,
    clears: bool,
}

impl Model {
    fn merge(&mut self, inserts: std::ops::RangeInclusive<usize>) {
        let now = self.now;
        for rows in &mut self.inserts[inserts] {
            rows.retain(|row| row.1 == 0 || row.1 > now);
            let is_cleared = |row: &&mut Row| self.clears && row.1 / 2 != 0 && row.1 / 2 <= now;
            rows.iter_mut().filter(is_cleared).for_each(|row| row.2 = 0);
        }
    }

    fn merge_all(&mut self) {
        if let Some(last) = self.inserts.len().checked_sub(1) {
            self.merge(0..=last);
        }
    }

    fn rows(&self) -> Vec<Row> {
        sorted(self.inserts.concat())
    }
}

/// With `is_vertical`, merges write the column outside the key by itself.
fn check(ops: &[Op], is_vertical: bool) {
    let ttl = if is_vertical { vec![delete()] } else { vec![delete(), clear()] };
    let mut table = Expiring::new(ttl);
    if is_vertical {
        table.spec.merges =
            MergeLimits { vertical_rows_min: 1, vertical_columns_min: 1, ..MergeLimits::default() };
        table = table.reopen();
    }
    let mut model = Model { inserts: Vec::new(), now: 10, clears: !is_vertical };
    let mut block_of_first = None;
    for op in ops {
        match op {
            Op::Insert(rows) => {
                let names = table.parts.insert(batch_of(&table.spec, rows)).unwrap();
                let block = names[0].min_block as usize;
                let first = *block_of_first.get_or_insert(block);
                // Inserts are numbered by their blocks; a merge takes no number.
                model.inserts.resize(block - first, Vec::new());
                model.inserts.push(rows.clone());
            }
            Op::Advance(seconds) => {
                table.clock.advance(seconds * SECOND);
                model.now += seconds;
            }
            Op::Merge(start, count) => {
                if let Some(parts) = table.parts.snapshot().get(*start..start + count) {
                    let first = block_of_first.unwrap_or_default();
                    let block = |block: u64| block as usize - first;
                    model.merge(block(parts[0].name().min_block)..=block(parts[count - 1].name().max_block));
                    table.parts.merge(parts, &Default::default()).unwrap();
                }
            }
            Op::Expire => {
                table.expire(&AT_ONCE);
                model.merge_all();
            }
            Op::OptimizeFinal => {
                table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
                model.merge_all();
            }
            Op::Reopen => table = table.reopen(),
        }
        assert_eq!(table.rows(), model.rows());
        table.parts.snapshot().iter().for_each(|part| part.check().unwrap());
    }
}

proptest! {
    #[test]
    fn table_is_what_was_inserted_without_what_merges_found_expired(ops in prop::collection::vec(op(), 1..25), is_vertical: bool) {
        check(&ops, is_vertical);
    }
}

/// At every sync: all unexpired rows and values exist, and no row is new.
#[test]
fn expiring_survives_a_crash_at_every_sync() {
    for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
        let mut sync = 0;
        while !check_crash(crash, sync) {
            sync += 1;
        }
        assert!(sync > 8, "{sync} syncs");
    }
}

/// Whether the workload ran to its end.
fn check_crash(crash: Crash, sync: u64) -> bool {
    let table = Expiring::new(vec![delete(), clear()]);
    let inserted = [(1, 11, 1), (2, 12, 2), (3, 30, 3), (4, 0, 4), (5, 12, 5)];
    table.insert(&inserted[..4]);
    table.insert(&inserted[4..]);
    table.clock.advance(10 * SECOND);
    table.storage.stop_at_sync(table.storage.sync_count() + sync);
    let mut is_finished = true;
    while let Some(merge) = table.parts.select_ttl_merge(&AT_ONCE) {
        if table.parts.merge(&merge.parts, &WorkControl::default()).is_err() {
            is_finished = false;
            break;
        }
    }
    let Expiring { storage, clock, spec, parts } = table;
    drop(parts);
    storage.crash(crash);
    let parts = open(&storage, &clock, &spec).unwrap();
    assert!(parts.detached().is_empty(), "{crash:?} at sync {sync}: {:?}", parts.detached());
    let found = rows_in(&parts);
    for row in &found {
        assert!(inserted.contains(row) || *row == (3, 30, 0), "{crash:?} at sync {sync}: {row:?}");
    }
    for key in [3, 4] {
        assert_eq!(found.iter().filter(|row| row.0 == key).count(), 1, "{crash:?} at sync {sync}");
    }
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(rows_in(&parts), [(3, 30, 0), (4, 0, 4)], "{crash:?} at sync {sync}");
    is_finished
}
