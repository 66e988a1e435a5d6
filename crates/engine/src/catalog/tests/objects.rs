//! A crash at every change that a statement about objects makes: created, renamed, replaced, dropped.

use std::path::PathBuf;

use basalt_base::ErrorCode;
use basalt_base::fs::{Crash, Storage};

use super::{Database, LOOKS_AGAIN};
use crate::Error;

const TWO_TABLES: &[&str] = &[
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (id UInt64, name String) ENGINE = MergeTree ORDER BY id",
    "INSERT INTO shop.t VALUES (1, 'one'), (2, 'two')",
    "CREATE TABLE shop.u (k UInt8) ENGINE = MergeTree ORDER BY k",
    "INSERT INTO shop.u VALUES (7)",
    "CREATE VIEW shop.v AS SELECT id * 10 AS tens FROM shop.t",
    "CREATE DICTIONARY shop.d (id UInt64, name String) PRIMARY KEY id \
     SOURCE(CLICKHOUSE(DB 'shop' TABLE 't')) LIFETIME(0) LAYOUT(HASHED())",
];

/// Runs `workload` after `prologue`, stopping the disk at each of its changes in turn.
fn check(prologue: &[&str], workload: &[&str]) {
    let mut dry = Database::new();
    prologue.iter().for_each(|statement| drop(dry.ask(statement)));
    let start = dry.storage.change_count();
    let mut states = vec![dry.snapshot()];
    for statement in workload {
        dry.ask(statement);
        states.push(dry.snapshot());
    }
    let changes = dry.storage.change_count() - start;
    assert!(changes > workload.len() as u64, "{changes} changes");
    for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
        for change in 0..=changes {
            check_crash(crash, change, prologue, workload, &states);
        }
    }
}

fn check_crash(crash: Crash, change: u64, prologue: &[&str], workload: &[&str], states: &[Vec<String>]) {
    let mut database = Database::new();
    prologue.iter().for_each(|statement| drop(database.ask(statement)));
    database.storage.stop_at_change(database.storage.change_count() + change);
    let acknowledged = workload.iter().take_while(|statement| database.run(statement).is_ok()).count();
    database.crash(crash);
    let under_way = workload.get(acknowledged).unwrap_or(&"nothing");
    let context = format!("{crash:?} at change {change}, {acknowledged} acknowledged, then {under_way}");
    let found = database.snapshot();
    let allowed = [&states[acknowledged], states.get(acknowledged + 1).unwrap_or(&states[acknowledged])];
    assert!(allowed.contains(&&found), "{context}: found {found:#?}, allowed are {allowed:#?}");
    database.assert_tidy(&context);
    // A second crash right after the recovery changes nothing, and the database works on. Not tried
    // after every crash: it takes longer than the rest.
    if !change.is_multiple_of(LOOKS_AGAIN) {
        return;
    }
    database.crash(crash);
    assert_eq!(database.snapshot(), found, "{context}, then another crash");
    database.ask("CREATE TABLE after (x UInt8) ENGINE = MergeTree ORDER BY x");
    database.ask("INSERT INTO after VALUES (1)");
    database.crash(Crash::LoseUnsynced);
    assert_eq!(database.ask("SELECT * FROM after"), "1\n", "{context}");
}

#[test]
fn created_objects_are_whole_or_absent() {
    check(&[], TWO_TABLES);
}

#[test]
fn altered_tables_have_the_old_definition_or_the_new_one() {
    check(
        TWO_TABLES,
        &[
            "ALTER TABLE shop.t ADD COLUMN extra UInt8 DEFAULT 5",
            "INSERT INTO shop.t VALUES (3, 'three', 6)",
            "ALTER TABLE shop.t COMMENT COLUMN extra 'more'",
            "ALTER TABLE shop.t DROP COLUMN extra",
            "TRUNCATE TABLE shop.t",
        ],
    );
}

#[test]
fn renamed_objects_have_the_old_name_or_the_new_one() {
    check(
        TWO_TABLES,
        &[
            "RENAME TABLE shop.t TO shop.kept",
            "RENAME TABLE shop.kept TO shop.t, shop.u TO shop.w",
            "EXCHANGE TABLES shop.t AND shop.w",
            "RENAME TABLE shop.t TO shop.x, shop.w TO shop.t, shop.x TO shop.w",
            "RENAME DICTIONARY shop.d TO default.d",
            "RENAME TABLE shop.v TO default.v, shop.t TO default.t",
        ],
    );
}

#[test]
fn replaced_objects_are_the_old_one_or_the_new_one() {
    check(
        TWO_TABLES,
        &[
            "CREATE OR REPLACE TABLE shop.t (id UInt64, price Float64) ENGINE = MergeTree ORDER BY id",
            "CREATE OR REPLACE VIEW shop.v AS SELECT k + 1 AS next FROM shop.u",
            "CREATE OR REPLACE DICTIONARY shop.d (k UInt64, name String) PRIMARY KEY k \
             SOURCE(CLICKHOUSE(DB 'shop' TABLE 'u')) LIFETIME(0) LAYOUT(FLAT())",
        ],
    );
}

#[test]
fn objects_that_are_detached_for_good_stay_so_or_are_there() {
    check(
        TWO_TABLES,
        &[
            "DETACH DICTIONARY shop.d PERMANENTLY",
            "DETACH TABLE shop.t PERMANENTLY",
            "DETACH VIEW shop.v PERMANENTLY",
            "ATTACH TABLE shop.t",
            "ATTACH DICTIONARY shop.d",
            "ATTACH TABLE shop.v",
            "DETACH TABLE shop.u PERMANENTLY",
            "DROP DATABASE shop",
        ],
    );
}

#[test]
fn named_collections_are_the_old_one_or_the_new_one() {
    check(
        &["CREATE NAMED COLLECTION kept AS a = 1"],
        &[
            "CREATE NAMED COLLECTION place AS host = 'h', password = 'p' NOT OVERRIDABLE",
            "ALTER NAMED COLLECTION place SET host = 'i', port = 1 DELETE password",
            "DROP NAMED COLLECTION kept",
            "CREATE NAMED COLLECTION kept AS b = 'two words'",
            "DROP NAMED COLLECTION place",
        ],
    );
}

#[test]
fn dropped_objects_are_whole_or_absent() {
    check(
        TWO_TABLES,
        &[
            "DROP VIEW shop.v",
            "DROP DICTIONARY shop.d",
            "DROP TABLE shop.u",
            "CREATE DATABASE other",
            "DROP DATABASE shop",
            "DROP DATABASE other",
        ],
    );
}

#[test]
fn dropped_database_takes_all_that_is_in_it() {
    check(TWO_TABLES, &["DROP DATABASE shop", "CREATE DATABASE shop"]);
}

/// Rule: after a failed sync, stop writing, keep reading, say so.
#[test]
fn catalog_is_closed_for_changes_after_one_that_failed_halfway() {
    let mut database = Database::new();
    TWO_TABLES.iter().for_each(|statement| drop(database.ask(statement)));
    let before = database.storage.change_count();
    database.ask("RENAME TABLE shop.u TO shop.w");
    let changes = database.storage.change_count() - before;
    database.storage.stop_at_change(database.storage.change_count() + changes - 1);
    database.run("RENAME TABLE shop.w TO shop.u").unwrap_err();
    // The disk works again, the catalog does not trust it.
    database.storage.crash(Crash::TearUnsynced);
    let refused = database.run("DROP TABLE shop.w").unwrap_err();
    assert!(refused.message().contains("closed for changes"), "{refused}");
    assert_eq!(database.ask("SELECT * FROM shop.w"), "7\n");
    database.crash(Crash::TearUnsynced);
    assert_eq!(database.ask("SELECT * FROM shop.u"), "7\n");
}

#[test]
fn full_disk_refuses_a_change_and_takes_the_next() {
    let mut database = Database::new();
    database.ask("CREATE TABLE t (x UInt8) ENGINE = Memory");
    database.storage.set_space_left(Some(10));
    for statement in ["CREATE TABLE u (x UInt8) ENGINE = Memory", "RENAME TABLE t TO v"] {
        let refused: Error = database.run(statement).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::NotEnoughSpace, "{statement}: {refused}");
    }
    database.ask("DROP TABLE t");
    database.storage.set_space_left(None);
    database.ask("CREATE TABLE u (x UInt8) ENGINE = Memory");
    database.crash(Crash::LoseUnsynced);
    assert_eq!(database.ask("SHOW TABLES"), "u\n");
}

#[test]
fn detached_objects_come_back_at_the_next_start() {
    let mut database = Database::new();
    TWO_TABLES.iter().for_each(|statement| drop(database.ask(statement)));
    let before = database.snapshot();
    for name in ["TABLE shop.t", "TABLE shop.u", "VIEW shop.v", "DICTIONARY shop.d"] {
        database.ask(&format!("DETACH {name} SYNC"));
    }
    assert_eq!(database.ask("SHOW TABLES FROM shop"), "");
    let refused = database.run("CREATE TABLE shop.u (x UInt8) ENGINE = Memory").unwrap_err();
    assert_eq!(refused.code(), ErrorCode::TableAlreadyExists, "{refused}");
    database.crash(Crash::LoseUnsynced);
    assert_eq!(database.snapshot(), before);
}

#[test]
fn detached_database_comes_back_by_attach_and_at_the_next_start() {
    let mut database = Database::new();
    TWO_TABLES.iter().for_each(|statement| drop(database.ask(statement)));
    database.ask("DETACH VIEW shop.v PERMANENTLY");
    let before = database.snapshot();
    database.ask("DETACH DATABASE shop SYNC");
    assert_eq!(database.ask("SELECT count() FROM system.databases WHERE name = 'shop'"), "0\n");
    for taken in ["CREATE DATABASE shop", "CREATE DATABASE IF NOT EXISTS shop"] {
        let refused = database.run(taken).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::DatabaseAlreadyExists, "{refused}");
    }
    database.ask("ATTACH DATABASE shop");
    assert_eq!(database.snapshot(), before);
    database.ask("DETACH DATABASE shop");
    database.crash(Crash::LoseUnsynced);
    assert_eq!(database.snapshot(), before);
}

/// A key/value table's files can be open once only.
#[test]
fn detached_database_waits_for_who_reads_it() {
    let mut database = Database::new();
    database.ask("CREATE DATABASE shop");
    database.ask("CREATE TABLE shop.t (k UInt64, v UInt64) ENGINE = EmbeddedRocksDB PRIMARY KEY k");
    database.ask("INSERT INTO shop.t VALUES (1, 2)");
    let held = {
        let (engine, _) = database.session.as_ref().unwrap();
        engine.instance().catalog().find("shop", "t").unwrap()
    };
    database.ask("DETACH DATABASE shop");
    let reader = std::thread::spawn(move || drop(held));
    database.ask("ATTACH DATABASE shop");
    reader.join().unwrap();
    assert_eq!(database.ask("SELECT * FROM shop.t"), "1\t2\n");
}

/// A key/value table's files can be open once only.
#[test]
fn detached_table_waits_for_who_reads_it() {
    let mut database = Database::new();
    database.ask("CREATE TABLE t (k UInt64, v UInt64) ENGINE = EmbeddedRocksDB PRIMARY KEY k");
    database.ask("INSERT INTO t VALUES (1, 2)");
    let held = {
        let (engine, _) = database.session.as_ref().unwrap();
        engine.instance().catalog().find("default", "t").unwrap()
    };
    database.ask("DETACH TABLE t");
    let reader = std::thread::spawn(move || drop(held));
    database.ask("ATTACH TABLE t");
    reader.join().unwrap();
    assert_eq!(database.ask("SELECT * FROM t"), "1\t2\n");
}

/// Two tables that write into one directory would destroy it.
#[test]
fn copied_metadata_file_is_a_broken_table() {
    let mut database = Database::new();
    TWO_TABLES.iter().for_each(|statement| drop(database.ask(statement)));
    let shop: PathBuf = database.dir.path().join("metadata/shop");
    let bytes = database.storage.read(&shop.join("t.sql"), 1 << 20).unwrap();
    basalt_base::fs::publish_file(&database.storage, &shop.join("t2.sql"), &bytes).unwrap();
    database.crash(Crash::LoseUnsynced);
    assert_eq!(database.ask("SELECT count() FROM shop.t"), "2\n");
    let refused = database.run("SELECT count() FROM shop.t2").unwrap_err();
    assert!(refused.message().contains("uuid"), "{refused}");
    database.ask("DROP TABLE shop.t2");
    assert_eq!(database.ask("SELECT count() FROM shop.t"), "2\n");
}
