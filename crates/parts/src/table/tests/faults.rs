//! A disk that refuses changes, once or until it is repaired: commands fail, nothing is lost, and the table opens
//! again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use basalt_base::fs::{FaultyStorage, Stays, Storage};

use super::mutations::{DeleteThirds, run};
use super::{DIR, compact_spec, number_spec, numbers, open, read_numbers, sorted};
use crate::error::{Error, Result};
use crate::spec::PartSpec;
use crate::table::{PartSelection, TableParts};

/// A command on a table with the numbers 0 to 20 in two parts.
type Command = fn(&TableParts) -> Result<()>;

const COMMANDS: &[(&str, Command)] = &[
    ("insert", |parts| parts.insert(numbers(20..30)).map(drop)),
    ("merge", |parts| parts.optimize_final(&Default::default(), &Default::default())),
    ("mutation", |parts| {
        parts.begin_mutation("DELETE WHERE n % 3 = 0")?;
        run(parts, &DeleteThirds { is_light: false })
    }),
    ("light delete", |parts| {
        parts.begin_mutation("DELETE WHERE n % 3 = 0")?;
        run(parts, &DeleteThirds { is_light: true })
    }),
    ("drop", |parts| parts.drop_parts(&PartSelection::All).map(drop)),
    ("detach", |parts| {
        let first = parts.snapshot()[0].name().to_string();
        parts.detach_parts(&PartSelection::Part(first), None).map(drop)
    }),
    ("attach", |parts| parts.attach_parts(&PartSelection::All).map(drop)),
    ("truncate", |parts| parts.truncate()),
    ("freeze", |parts| parts.freeze(&PartSelection::All, Path::new("/shadow/one")).map(drop)),
];

#[test]
fn refused_change_loses_nothing_of_wide_parts() {
    COMMANDS.iter().for_each(|command| check(command, &number_spec()));
}

#[test]
fn refused_change_loses_nothing_of_compact_parts() {
    COMMANDS.iter().for_each(|command| check(command, &compact_spec()));
}

fn original(spec: &PartSpec) -> FaultyStorage {
    let storage = FaultyStorage::new();
    let parts = open(&storage, spec.clone()).unwrap();
    parts.insert(numbers(30..40)).unwrap();
    parts.detach_parts(&PartSelection::All, None).unwrap();
    parts.insert(numbers(0..10)).unwrap();
    parts.insert(numbers(10..20)).unwrap();
    storage
}

/// The directory of the part with the numbers from `first` on.
fn directory(storage: &FaultyStorage, first: u64) -> PathBuf {
    let parts = open(storage, number_spec()).unwrap();
    let place = if first == 0 { 0 } else { 1 };
    Path::new(DIR).join(parts.snapshot()[place].name().to_string())
}

fn check((name, command): &(&str, Command), spec: &PartSpec) {
    let original = original(spec);
    let dry = original.copy();
    let parts = open(&dry, spec.clone()).unwrap();
    let (before, start) = (sorted(read_numbers(&parts).unwrap()), dry.change_count());
    command(&parts).unwrap();
    let after = sorted(read_numbers(&parts).unwrap());
    drop(parts);
    let changes = dry.change_count() - start;
    for stays in [Stays::Once, Stays::Always] {
        for change in 0..changes {
            let kind = if change % 2 == 0 { ErrorKind::StorageFull } else { ErrorKind::Other };
            let context = format!("{name}: {stays:?} {kind:?} at change {change}");
            let storage = original.copy();
            let parts = open(&storage, spec.clone()).unwrap();
            storage.refuse_changes(storage.change_count() + change, stays, kind);
            let done = command(&parts);
            let now = sorted(read_numbers(&parts).unwrap());
            match &done {
                Ok(()) => assert_eq!(now, after, "{context}"),
                // A mutation continues with the other parts.
                Err(_) => assert!(is_between(&now, &before, &after), "{context}: {now:?}"),
            }
            storage.mend();
            let is_closed = matches!(parts.insert(numbers(100..101)), Err(Error::Poisoned { .. }));
            drop(parts);
            check_reopened(&storage, spec, (&before, &after), done.is_ok(), is_closed, &context);
        }
    }
}

/// Whether `now` only differs in numbers that the command adds or removes.
fn is_between(now: &[u64], before: &[u64], after: &[u64]) -> bool {
    let stays = before.iter().filter(|number| after.contains(number));
    stays.into_iter().all(|number| now.contains(number))
        && now.iter().all(|number| before.contains(number) || after.contains(number))
}

fn check_reopened(
    storage: &FaultyStorage,
    spec: &PartSpec,
    (before, after): (&[u64], &[u64]),
    is_done: bool,
    is_closed: bool,
    context: &str,
) {
    let parts = open(storage, spec.clone()).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(parts.detached().is_empty(), "{context}: {:?}", parts.detached());
    let _ = run(&parts, &DeleteThirds { is_light: false });
    let mut found = sorted(read_numbers(&parts).unwrap());
    found.retain(|number| *number != 100);
    if is_done {
        assert_eq!(found, after, "{context}, acknowledged, then opened again");
    } else {
        assert!(
            found == before || found == after,
            "{context}, opened again (closed: {is_closed}): {found:?}"
        );
    }
    parts.insert(numbers(200..201)).unwrap();
    assert!(!storage.exists(Path::new("/store/table/moves.rec")).unwrap(), "{context}");
}

#[test]
fn file_that_cannot_be_read_is_an_error_of_its_table_only() {
    let storage = original(&number_spec());
    let broken = directory(&storage, 10);
    storage.break_path(&broken);
    let Err(error) = open(&storage, number_spec()) else { panic!("a part cannot be read") };
    assert!(error.to_string().contains(&broken.display().to_string()), "{error}");
    storage.mend();
    assert_eq!(
        sorted(read_numbers(&open(&storage, number_spec()).unwrap()).unwrap()),
        (0..20).collect::<Vec<_>>()
    );
}

/// If the directory of a part is lost, so are its rows, and nothing else.
#[test]
fn directory_that_is_gone_takes_its_rows_only() {
    let storage = original(&number_spec());
    let lost = directory(&storage, 10);
    let parts = open(&storage, number_spec()).unwrap();
    storage.lose(&lost);
    read_numbers(&parts).unwrap_err();
    parts.insert(numbers(20..30)).unwrap();
    drop(parts);
    let parts = open(&storage, number_spec()).unwrap();
    assert_eq!(sorted(read_numbers(&parts).unwrap()), (0..10).chain(20..30).collect::<Vec<_>>());
}

/// On a full disk nothing is written, and the table opens and is readable.
#[test]
fn full_disk_is_opened_and_read() {
    let storage = original(&number_spec());
    storage.damage(&directory(&storage, 0).join("part.meta"), |bytes| bytes[20] ^= 1);
    storage.set_pages_left(Some(0));
    let parts = open(&storage, number_spec()).unwrap();
    assert_eq!(read_numbers(&parts).unwrap(), (10..20).collect::<Vec<_>>());
    assert_eq!(parts.detached().len(), 1);
    parts.insert(numbers(20..30)).unwrap_err();
    storage.set_pages_left(None);
    parts.insert(numbers(20..30)).unwrap();
}
