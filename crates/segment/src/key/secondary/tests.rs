//! Secondary indexes find the ranks that a map of lists has.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Bound;

use basalt_base::Result;
use proptest::prelude::*;

use super::sort::EntrySorter;
use super::*;
use crate::Rank;
use crate::file::Access;
use crate::file::testing::{Parts, TestDir, each_damage};
use crate::key::PrefixAutomaton;
use crate::key::conformance::exercise;

type Entry = (Vec<u8>, Rank);

fn build(dir: &TestDir, entries: &[Entry]) -> Vec<Parts> {
    let mut builder = SecondaryIndexBuilder::new("index/a", dir.place(), 32 << 20);
    entries.iter().for_each(|(value, rank)| builder.push(value, *rank).expect("room"));
    builder.finish().expect("room").into_iter().map(Parts::of).collect()
}

fn open(dir: &TestDir, parts: &[Parts], access: Access) -> Result<SecondaryIndex> {
    SecondaryIndex::open(&dir.file(parts, access), "index/a")
}

fn check(entries: &[Entry], probes: &[Vec<u8>]) {
    let dir = TestDir::new();
    let parts = build(&dir, entries);
    let mut expected: BTreeMap<&[u8], BTreeSet<Rank>> = BTreeMap::new();
    for (value, rank) in entries {
        expected.entry(value).or_default().insert(*rank);
    }
    let in_range = |range: (Bound<&[u8]>, Bound<&[u8]>)| -> Vec<Rank> {
        expected.range::<[u8], _>(range).flat_map(|(_, ranks)| ranks.iter().copied()).collect()
    };
    for access in [Access::Mapped, Access::Read] {
        let index = open(&dir, &parts, access).expect("an index");
        assert_eq!(index.len(), expected.values().map(BTreeSet::len).sum::<usize>());
        assert_eq!(index.values().len() as usize, expected.len());
        for probe in probes.iter().map(Vec::as_slice).chain(expected.keys().copied()) {
            let mut found = Vec::new();
            index.find(probe, &mut found).expect("ranks");
            assert_eq!(found, in_range((Bound::Included(probe), Bound::Included(probe))));
            for range in [
                (Bound::Included(probe), Bound::Unbounded),
                (Bound::Excluded(probe), Bound::Excluded(&b"m"[..])),
                (Bound::Unbounded, Bound::Included(probe)),
            ] {
                let values = index.range(range.0, range.1).expect("numbers");
                let mut found = Vec::new();
                index.ranks(values.clone(), &mut found).expect("ranks");
                assert_eq!(index.count(values), found.len());
                let is_empty = matches!(range, (Bound::Excluded(from), Bound::Excluded(to)) if from >= to);
                assert_eq!(found, if is_empty { Vec::new() } else { in_range(range) });
            }
            let prefix = &probe[..probe.len() / 2];
            let expected: Vec<Rank> = expected
                .iter()
                .filter(|(value, _)| value.starts_with(prefix))
                .flat_map(|(_, ranks)| ranks.iter().copied())
                .collect();
            let (mut found, mut searched) = (Vec::new(), Vec::new());
            index.ranks(index.prefix(prefix).expect("numbers"), &mut found).expect("ranks");
            index.search(&mut PrefixAutomaton::new(prefix), &mut searched).expect("ranks");
            assert_eq!((&found, &searched), (&expected, &expected));
        }
    }
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof!["[a-c]{0,3}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..5)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 40 }))]

    #[test]
    fn entries_are_found(
        entries in prop::collection::vec((value(), 0..500_u32), 0..300),
        probes in prop::collection::vec(value(), 0..10),
    ) {
        check(&entries, &probes);
    }

    #[test]
    fn entries_are_sorted_with_little_memory(entries in prop::collection::vec((value(), 0..50_u32), 0..2000)) {
        let dir = TestDir::new();
        // Memory for one entry makes a run of each: more than are merged at once.
        let mut sorter = EntrySorter::new(dir.place(), 1);
        entries.iter().for_each(|(value, rank)| sorter.push(value, *rank).expect("room"));
        let mut sorted = Vec::new();
        let taken = sorter.finish(|value, rank| {
            sorted.push((value.to_vec(), rank));
            Ok(())
        });
        taken.expect("room");
        let expected: BTreeSet<Entry> = entries.into_iter().collect();
        prop_assert_eq!(sorted, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn the_greatest_rank_is_found() {
    check(&[(b"a".to_vec(), Rank::MAX - 2), (b"b".to_vec(), 0), (b"b".to_vec(), Rank::MAX - 2)], &[]);
}

#[test]
fn frequent_values_take_few_bits() {
    let dir = TestDir::new();
    let entries: Vec<Entry> = (0..50_000_u32).map(|rank| (vec![b'a' + (rank % 3) as u8], rank)).collect();
    let index = open(&dir, &build(&dir, &entries), Access::Mapped).expect("an index");
    assert!(index.stored_bytes() * 8 < 50_000 * 6, "{} bytes", index.stored_bytes());
}

#[test]
fn damaged_bytes_give_an_error_or_some_answer() {
    let dir = TestDir::new();
    let entries: Vec<Entry> =
        (0..60_u32).map(|rank| (format!("v{}", rank % 20).into_bytes(), rank)).collect();
    let parts = build(&dir, &entries);
    each_damage(&parts, |damaged| {
        let Ok(index) = open(&dir, damaged, Access::Mapped) else { return };
        let mut out = Vec::new();
        let _ = index.ranks(0..u32::MAX, &mut out);
        let _ = index.find(b"v7", &mut out);
        let _ = index.prefix(b"v1").map(|values| index.ranks(values, &mut out));
        exercise(index.values(), &[b"v1".to_vec()]);
    });
}
