//! An observer receives the events of parts in their order.

use std::sync::{Arc, Mutex};

use super::mutations::DeleteThirds;
use super::partitions::spec;
use super::{TestTable, numbers};
use crate::part::view::Part;
use crate::table::{
    Deduplication, InsertOptions, MergeReason, MergeWatch, OptimizeOptions, PartEvent, PartEventKind,
    PartObserver, PartSelection, WorkControl,
};

#[derive(Default)]
struct Events(Mutex<Vec<PartEvent>>);

impl PartObserver for Events {
    fn note(&self, event: PartEvent) {
        self.0.lock().unwrap().push(event);
    }
}

/// A table partitioned by tens, with an observer.
fn observed() -> (TestTable, Arc<Events>) {
    let (table, events) = (TestTable::with_spec(spec()), Arc::<Events>::default());
    table.parts.observe(Arc::clone(&events) as Arc<dyn PartObserver>);
    (table, events)
}

/// The events since the last call: kind, name, rows and sources.
fn check(events: &Events, expected: &[(PartEventKind, &str, Option<u64>, &[&str])]) -> Vec<PartEvent> {
    let events = std::mem::take(&mut *events.0.lock().unwrap());
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            let sources: Vec<String> = event.sources.iter().map(ToString::to_string).collect();
            (event.kind, event.name.to_string(), event.part.as_ref().map(|part| part.rows), sources)
        })
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, name, rows, sources)| {
            (*kind, (*name).to_owned(), *rows, sources.iter().map(|&name| name.to_owned()).collect())
        })
        .collect();
    assert_eq!(told, expected);
    events
}

#[test]
fn insert_tells_of_each_part_with_the_identity_of_its_block() {
    let (table, events) = observed();
    let deduplication = Some(Deduplication { window: 10, token: String::new() });
    let options = InsertOptions { deduplication, ..InsertOptions::default() };
    let mut insert = table.parts.begin_insert(options).unwrap();
    insert.write(numbers(5..12)).unwrap();
    check(&events, &[]);
    insert.commit().unwrap();
    let new = check(
        &events,
        &[(PartEventKind::New, "0_1_1_0", Some(5), &[]), (PartEventKind::New, "1_2_2_0", Some(2), &[])],
    );
    assert!(new.iter().all(|event| event.block_ids.len() == 1 && event.reason.is_none()));
    assert!(new[1].block_ids[0].starts_with("1_"), "{:?}", new[1].block_ids);
}

#[test]
fn merge_is_told_before_what_it_took_the_place_of() {
    let (table, events) = observed();
    table.parts.insert(numbers(0..3)).unwrap();
    table.parts.insert(numbers(3..7)).unwrap();
    events.0.lock().unwrap().clear();
    let parts = table.parts.snapshot();
    let control = WorkControl::default().because_of(MergeReason::TtlDelete);
    table.parts.merge(&parts, &control).unwrap();
    let sources: &[&str] = &["0_1_1_0", "0_2_2_0"];
    let told = check(
        &events,
        &[
            (PartEventKind::MergeStarted, "0_1_2_1", None, sources),
            (PartEventKind::Merged, "0_1_2_1", Some(7), sources),
            (PartEventKind::Removed, "0_1_1_0", Some(3), &[]),
            (PartEventKind::Removed, "0_2_2_0", Some(4), &[]),
        ],
    );
    assert_eq!((told[1].reason, told[1].is_vertical), (Some(MergeReason::TtlDelete), Some(false)));
    assert_eq!(told[1].read_rows, 7);
    assert!(told[1].peak_memory_bytes > 0 && told[1].read_bytes > 0);
}

#[test]
fn mutation_tells_its_number_and_what_is_left() {
    let (table, events) = observed();
    table.parts.insert(numbers(0..10)).unwrap();
    let version = table.parts.begin_mutation("DELETE").unwrap();
    events.0.lock().unwrap().clear();
    let part = Arc::clone(&table.parts.snapshot()[0]);
    let control = WorkControl::default();
    table.parts.mutate(&part, version, &DeleteThirds { is_light: false }, &control).unwrap();
    let told = check(
        &events,
        &[
            (PartEventKind::MutationStarted, "0_1_1_0_2", None, &["0_1_1_0"]),
            (PartEventKind::Mutated, "0_1_1_0_2", Some(6), &["0_1_1_0"]),
            (PartEventKind::Removed, "0_1_1_0", Some(10), &[]),
        ],
    );
    assert_eq!((told[1].mutations.as_slice(), told[1].reason), (&[version][..], None));
}

#[test]
fn merge_that_fails_tells_why_and_removes_nothing() {
    let (table, events) = observed();
    table.parts.insert(numbers(0..3)).unwrap();
    table.parts.insert(numbers(3..7)).unwrap();
    events.0.lock().unwrap().clear();
    let parts = table.parts.snapshot();
    table.storage.set_space_left(Some(0));
    table.parts.merge(&parts, &WorkControl::default()).unwrap_err();
    let sources: &[&str] = &["0_1_1_0", "0_2_2_0"];
    let told = check(
        &events,
        &[
            (PartEventKind::MergeStarted, "0_1_2_1", None, sources),
            (PartEventKind::Merged, "0_1_2_1", None, sources),
        ],
    );
    assert!(told[1].error.is_some());
}

#[test]
fn whole_parts_that_come_and_go_are_told() {
    let (table, events) = observed();
    table.parts.insert(numbers(0..3)).unwrap();
    events.0.lock().unwrap().clear();
    let partition = PartSelection::Partition("0".to_owned());
    table.parts.detach_parts(&partition, None).unwrap();
    check(&events, &[(PartEventKind::Removed, "0_1_1_0", Some(3), &[])]);
    table.parts.attach_parts(&partition).unwrap();
    check(&events, &[(PartEventKind::New, "0_2_2_0", Some(3), &[])]);
}

/// The number of parts of each merge, and 0 for its end.
#[derive(Debug, Default)]
struct Watch(Mutex<Vec<usize>>);

impl MergeWatch for Watch {
    fn merge_begins(&self, parts: &[Arc<Part>]) {
        self.0.lock().unwrap().push(parts.len());
    }

    fn merge_ends(&self) {
        self.0.lock().unwrap().push(0);
    }
}

#[test]
fn optimize_tells_of_each_of_its_merges() {
    let (table, watch) = (TestTable::with_spec(spec()), Watch::default());
    (0..3).for_each(|n| {
        table.parts.insert(numbers(n..n + 5)).unwrap();
    });
    let options = OptimizeOptions { watch: Some(&watch), ..OptimizeOptions::default() };
    table.parts.optimize_final(&options, &WorkControl::default()).unwrap();
    assert_eq!(*watch.0.lock().unwrap(), [3, 0]);
    table.parts.insert(numbers(5..15)).unwrap();
    let cancelled = WorkControl::default();
    cancelled.cancel();
    assert!(table.parts.optimize_final(&options, &cancelled).is_err());
    assert_eq!(*watch.0.lock().unwrap(), [3, 0, 2, 0]);
}
