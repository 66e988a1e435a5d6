//! A crash at every sync of an ALTER: the table has the state before it or after it, whole.

use std::rc::Rc;

use basalt_base::fs::Crash;

use super::{Database, LOOKS_AGAIN};

/// A table of two partitions, one with two parts, which have a file a column.
const WIDE: &[&str] = &[
    "CREATE TABLE t (k UInt32, p UInt8, v UInt32, s String, INDEX i v TYPE minmax GRANULARITY 1) \
     ENGINE = MergeTree PARTITION BY p ORDER BY k SETTINGS min_bytes_for_wide_part = 0, index_granularity = 4",
    "INSERT INTO t SELECT number, number % 2, number * 3, toString(number) FROM numbers(20)",
    "INSERT INTO t SELECT number, 1, number * 5, 'more' FROM numbers(5)",
];

/// The same as files of all columns.
const COMPACT: &[&str] = &[
    "CREATE TABLE t (k UInt32, p UInt8, v UInt32, s String, INDEX i v TYPE minmax GRANULARITY 1) \
     ENGINE = MergeTree PARTITION BY p ORDER BY k",
    "INSERT INTO t SELECT number, number % 2, number * 3, toString(number) FROM numbers(20)",
    "INSERT INTO t SELECT number, 1, number * 5, 'more' FROM numbers(5)",
];

/// Runs the statements one after the other, each with a crash at each of its syncs.
fn check(prologue: &[&str], statements: &[&str]) {
    let mut dry = Database::new();
    dry.ask("SET mutations_sync = 1, alter_sync = 1, allow_drop_detached = 1");
    prologue.iter().for_each(|statement| drop(dry.ask(statement)));
    let mut before = dry.snapshot();
    for statement in statements {
        let disk = dry.storage.copy();
        let start = dry.storage.sync_count();
        dry.ask(statement);
        let syncs = dry.storage.sync_count() - start;
        let after = dry.snapshot();
        // The lock of the directory is the dry one's.
        dry.close();
        for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
            for sync in 0..=syncs {
                let database = Database::on(disk.copy(), Rc::clone(&dry.dir));
                check_crash(database, (crash, sync), statement, [&before, &after]);
            }
        }
        dry.open();
        dry.ask("SET mutations_sync = 1, alter_sync = 1, allow_drop_detached = 1");
        before = after;
    }
}

fn check_crash(
    mut database: Database,
    (crash, sync): (Crash, u64),
    statement: &str,
    [before, after]: [&Vec<String>; 2],
) {
    database.ask("SET mutations_sync = 1, alter_sync = 1, allow_drop_detached = 1");
    database.storage.stop_at_sync(database.storage.sync_count() + sync);
    let acknowledged = database.run(statement).is_ok();
    database.crash(crash);
    database.settle();
    let context = format!("{crash:?} at sync {sync} of {statement}, acknowledged: {acknowledged}");
    let found = database.snapshot();
    let is_before = found == *before && !acknowledged;
    assert!(
        is_before || found == *after,
        "{context}: found {found:#?}, before it was {before:#?}, after it {after:#?}"
    );
    database.assert_tidy(&context);
    // A second crash right after the recovery changes nothing.
    if sync.is_multiple_of(LOOKS_AGAIN) {
        database.crash(crash);
        database.settle();
        assert_eq!(database.snapshot(), found, "{context}, then another crash");
    }
    database.close();
}

#[test]
fn columns_are_as_before_or_as_after() {
    for prologue in [WIDE, COMPACT] {
        check(
            prologue,
            &[
                "ALTER TABLE t ADD COLUMN a UInt8 DEFAULT v % 7, ADD COLUMN b String AFTER k",
                "ALTER TABLE t RENAME COLUMN s TO text",
                "ALTER TABLE t MODIFY COLUMN v UInt64",
                "ALTER TABLE t MATERIALIZE COLUMN a",
                "ALTER TABLE t CLEAR COLUMN text IN PARTITION 1",
                "ALTER TABLE t COMMENT COLUMN a 'of a', MODIFY COLUMN b CODEC(ZSTD)",
                "ALTER TABLE t DROP COLUMN text, RENAME COLUMN a TO text",
            ],
        );
    }
}

#[test]
fn clauses_are_as_before_or_as_after() {
    check(
        WIDE,
        &[
            "ALTER TABLE t MODIFY SETTING parts_to_delay_insert = 77",
            "ALTER TABLE t RESET SETTING parts_to_delay_insert",
            "ALTER TABLE t ADD COLUMN d Date, MODIFY ORDER BY (k, d)",
            "ALTER TABLE t MODIFY TTL d + INTERVAL 1000 YEAR",
            "ALTER TABLE t REMOVE TTL",
            "ALTER TABLE t MODIFY COMMENT 'a table'",
        ],
    );
}

#[test]
fn indexes_are_as_before_or_as_after() {
    check(
        WIDE,
        &[
            "ALTER TABLE t ADD INDEX j s TYPE set(10) GRANULARITY 1",
            "ALTER TABLE t MATERIALIZE INDEX j",
            "ALTER TABLE t CLEAR INDEX j",
            "ALTER TABLE t DROP INDEX i",
        ],
    );
}

#[test]
fn mutations_are_done_or_not() {
    for prologue in [WIDE, COMPACT] {
        check(
            prologue,
            &[
                "DELETE FROM t WHERE k % 4 = 1",
                "ALTER TABLE t UPDATE v = v + 1 WHERE k < 9",
                "ALTER TABLE t DELETE WHERE k % 3 = 0",
                "ALTER TABLE t UPDATE s = concat(s, '!') WHERE 1, DELETE WHERE k = 5",
                "DELETE FROM t WHERE 1",
            ],
        );
    }
}

#[test]
fn partitions_are_where_they_were_or_where_they_go() {
    let prologue: Vec<&str> = WIDE.iter().copied().chain(["CREATE TABLE u AS t"]).collect();
    check(
        &prologue,
        &[
            "ALTER TABLE t DETACH PARTITION 1",
            "ALTER TABLE t ATTACH PARTITION 1",
            "ALTER TABLE u ATTACH PARTITION 1 FROM t",
            "ALTER TABLE t FREEZE PARTITION 1 WITH NAME 'kept'",
            "ALTER TABLE t MOVE PARTITION 0 TO TABLE u",
            "ALTER TABLE t REPLACE PARTITION 1 FROM u",
            "ALTER TABLE u MOVE PARTITION 1 TO TABLE t",
            "ALTER TABLE t DROP PARTITION 1",
            "ALTER TABLE u DETACH PARTITION 0",
            "ALTER TABLE u DROP DETACHED PARTITION 0",
        ],
    );
}

/// With the names of columns that each table has.
#[test]
fn partitions_of_altered_tables_go_to_others() {
    let mut prologue = WIDE.to_vec();
    prologue.extend([
        "CREATE TABLE u AS t",
        "ALTER TABLE u RENAME COLUMN v TO w",
        "ALTER TABLE t RENAME COLUMN v TO w",
        "ALTER TABLE t DROP COLUMN s",
        "ALTER TABLE u DROP COLUMN s",
    ]);
    check(
        &prologue,
        &["ALTER TABLE t MOVE PARTITION 1 TO TABLE u", "ALTER TABLE u MOVE PARTITION 1 TO TABLE t"],
    );
}
