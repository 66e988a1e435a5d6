//! Changes that fail for a reason that stays: the client has an error, nothing is lost, the rest works on, and the
//! database opens again.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::rc::Rc;

use basalt_base::fs::{Crash, FaultyStorage, Stays, Storage, publish_file};
use basalt_base::{Error, ErrorCode};
use tempfile::TempDir;

use super::Database;
use crate::catalog::journal::RenameJournal;
use crate::catalog::metadata_file::encode;

const TWO_TABLES: &[&str] = &[
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (id UInt64, name String) ENGINE = MergeTree ORDER BY id",
    "INSERT INTO shop.t VALUES (1, 'one'), (2, 'two')",
    "CREATE TABLE shop.u (k UInt8) ENGINE = MergeTree ORDER BY k",
    "INSERT INTO shop.u VALUES (7)",
    "CREATE VIEW shop.v AS SELECT id * 10 AS tens FROM shop.t",
    "CREATE NAMED COLLECTION place AS a = 1",
];

/// A closed database. Copies of it are opened one after the other.
struct Original {
    storage: FaultyStorage,
    dir: Rc<TempDir>,
    before: Vec<String>,
}

impl Original {
    fn new(prologue: &[&str]) -> Original {
        let mut database = Database::new();
        prologue.iter().for_each(|statement| drop(database.ask(statement)));
        let before = database.snapshot();
        database.close();
        Original { storage: database.storage, dir: database.dir, before }
    }

    fn open(&self) -> Database {
        Database::on(self.storage.copy(), Rc::clone(&self.dir))
    }

    /// Lets each change of `statement` fail in turn, once and for good.
    fn check(&self, statement: &str) {
        let mut dry = self.open();
        let start = dry.storage.change_count();
        dry.ask(statement);
        let changes = dry.storage.change_count() - start;
        let after = dry.snapshot();
        dry.close();
        for stays in [Stays::Once, Stays::Always] {
            for change in 0..changes {
                let kind = if change % 2 == 0 { ErrorKind::StorageFull } else { ErrorKind::Other };
                self.check_failure(statement, change, stays, kind, &after);
            }
        }
    }

    fn check_failure(
        &self,
        statement: &str,
        change: u64,
        stays: Stays,
        kind: ErrorKind,
        after: &Vec<String>,
    ) {
        let context = format!("{statement}: {stays:?} {kind:?} at change {change}");
        let mut database = self.open();
        database.storage.refuse_changes(database.storage.change_count() + change, stays, kind);
        let is_done = database.run(statement).is_ok();
        let now = database.snapshot();
        let expected = if is_done { after } else { &self.before };
        assert_eq!(&now, expected, "{context}, then it is read");
        database.storage.mend();
        let closed = closed(&mut database);
        database.crash(Crash::TearUnsynced);
        let found = database.snapshot();
        // A change whose sync failed may or may not be on the disk.
        let may_be = closed.is_some() && &found == after;
        assert!(&found == expected || may_be, "{context}, closed by {closed:?}, reopened: {found:#?}");
        database.assert_tidy(&context);
        database.ask("CREATE TABLE shop.probe (x UInt8) ENGINE = MergeTree ORDER BY x");
        database.close();
    }
}

/// Why the catalog, the named collections or a table take no changes: only a restart shows what is on the disk.
fn closed(database: &mut Database) -> Option<Error> {
    let mut refused = Vec::new();
    for object in ["TABLE shop.probe (x UInt8) ENGINE = Memory", "NAMED COLLECTION probe AS a = 1"] {
        refused.extend(database.run(&format!("CREATE {object}")).err());
    }
    for object in ["TABLE IF EXISTS shop.probe", "NAMED COLLECTION IF EXISTS probe"] {
        let _ = database.run(&format!("DROP {object}"));
    }
    for table in ["shop.t", "shop.u"] {
        // Those of other tests have no such columns, and say so.
        match database.run(&format!("INSERT INTO {table} (id, name) VALUES (99, 'probe')")) {
            Err(error) if error.code() == ErrorCode::ReadOnly => refused.push(error),
            Ok(_) => {
                let delete = format!("ALTER TABLE {table} DELETE WHERE id = 99 SETTINGS mutations_sync = 1");
                database.ask(&delete);
            }
            Err(_) => {}
        }
    }
    refused.into_iter().next()
}

#[test]
fn made_object_is_there_or_not_when_the_disk_refuses() {
    let original = Original::new(TWO_TABLES);
    for statement in [
        "CREATE DATABASE other",
        "CREATE TABLE shop.w (x UInt8) ENGINE = MergeTree ORDER BY x",
        "CREATE OR REPLACE VIEW shop.v AS SELECT k FROM shop.u",
        "CREATE NAMED COLLECTION other AS b = 2",
        "ALTER NAMED COLLECTION place SET a = 2",
    ] {
        original.check(statement);
    }
}

#[test]
fn renamed_objects_keep_their_names_when_the_disk_refuses() {
    let original = Original::new(TWO_TABLES);
    for statement in [
        "RENAME TABLE shop.t TO shop.kept",
        "EXCHANGE TABLES shop.t AND shop.u",
        "RENAME TABLE shop.t TO shop.x, shop.u TO shop.t, shop.x TO default.u",
    ] {
        original.check(statement);
    }
}

#[test]
fn dropped_or_detached_object_is_there_or_not_when_the_disk_refuses() {
    let original = Original::new(TWO_TABLES);
    for statement in [
        "DROP VIEW shop.v",
        "DETACH VIEW shop.v PERMANENTLY",
        "DROP NAMED COLLECTION place",
        "DROP TABLE shop.u",
    ] {
        original.check(statement);
    }
}

#[test]
fn rows_and_columns_are_as_before_or_after_when_the_disk_refuses() {
    let original = Original::new(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.t (id UInt64, name String) ENGINE = MergeTree ORDER BY id",
        "INSERT INTO shop.t VALUES (1, 'one'), (2, 'two')",
        "INSERT INTO shop.t VALUES (3, 'three')",
        "CREATE TABLE shop.u AS shop.t",
        "INSERT INTO shop.u VALUES (4, 'four')",
    ]);
    for statement in [
        "INSERT INTO shop.u VALUES (8, 'eight')",
        "TRUNCATE TABLE shop.u",
        "OPTIMIZE TABLE shop.t FINAL",
        "ALTER TABLE shop.t ADD COLUMN c UInt8 DEFAULT 7",
        "ALTER TABLE shop.t COMMENT COLUMN name 'of a product'",
        "ALTER TABLE shop.t DROP PARTITION tuple()",
        "ALTER TABLE shop.t MOVE PARTITION tuple() TO TABLE shop.u",
        "ALTER TABLE shop.u REPLACE PARTITION tuple() FROM shop.t",
    ] {
        original.check(statement);
    }
}

/// With one page free the journal fits, and the files after it may not.
#[test]
fn rename_on_a_nearly_full_disk_happens_or_does_not_and_all_opens() {
    let original = Original::new(TWO_TABLES);
    for statement in ["RENAME TABLE shop.t TO shop.kept", "EXCHANGE TABLES shop.t AND shop.u"] {
        for pages in 0..6 {
            let context = format!("{statement} with {pages} pages");
            let mut database = original.open();
            database.storage.set_pages_left(Some(pages));
            let renamed = database.run(statement);
            let expected = database.snapshot();
            if let Err(error) = renamed {
                assert_eq!(error.code(), ErrorCode::NotEnoughSpace, "{context}: {error}");
                assert_eq!(expected, original.before, "{context}");
            }
            database.ask("DROP VIEW shop.v");
            let expected = database.snapshot();
            database.storage.set_pages_left(Some(0));
            database.crash(Crash::TearUnsynced);
            assert_eq!(database.snapshot(), expected, "{context}, opened on a full disk");
            database.storage.set_pages_left(None);
            database.ask("CREATE TABLE shop.probe (x UInt8) ENGINE = MergeTree ORDER BY x");
            database.close();
        }
    }
}

/// The files that an earlier version left: the RENAME failed, and the journal says to repeat it.
#[test]
fn rename_to_an_impossible_name_is_given_up_at_open() {
    let original = Original::new(TWO_TABLES);
    let mut database = original.open();
    let stored = {
        let (engine, _) = database.session.as_ref().unwrap();
        engine.instance().catalog().find("shop", "t").unwrap().stored_as("shop", "moved").unwrap()
    };
    database.close();
    let metadata = original.dir.path().join("metadata");
    let write = |name: String| (format!("shop/{name}.sql"), encode(&stored));
    let journal = RenameJournal {
        writes: vec![write("moved".to_owned()), write("n".repeat(260))],
        removals: vec!["shop/t.sql".to_owned()],
        is_forward: true,
    };
    publish_file(&database.storage, &metadata.join("RENAME"), &journal.encode()).unwrap();
    database.open();
    assert_eq!(database.snapshot(), original.before);
    database.assert_tidy("given up");
    database.ask("RENAME TABLE shop.t TO shop.w");
    database.close();
}

#[test]
fn damaged_journal_keeps_neither_the_objects_nor_unknown_data_away() {
    let original = Original::new(TWO_TABLES);
    let (metadata, store) = (original.dir.path().join("metadata"), original.dir.path().join("store"));
    let orphan = store.join("00000000-0000-0000-0000-000000000001");
    publish_file(&original.storage, &metadata.join("RENAME"), b"-- basalt rename 2\nnonsense").unwrap();
    original.storage.create_dir_all(&orphan).unwrap();
    let mut database = original.open();
    assert_eq!(database.snapshot(), original.before);
    assert!(database.storage.exists(&orphan).unwrap(), "a name may have led to it");
    database.ask("RENAME TABLE shop.t TO shop.w");
    database.close();
}

#[test]
fn damaged_metadata_file_is_a_broken_object_and_its_data_stay() {
    let original = Original::new(TWO_TABLES);
    let shop: PathBuf = original.dir.path().join("metadata/shop");
    let whole = original.storage.read(&shop.join("t.sql"), 1 << 20).unwrap();
    // No checksum covers the uuid.
    let uuid_at = whole.iter().position(|byte| *byte == b'\n').unwrap() + "\n-- uuid ".len();
    for at in [uuid_at, whole.len() - 9] {
        let mut damaged = whole.clone();
        damaged[at] = if damaged[at] == b'0' { b'1' } else { b'0' };
        let mut database = Database::on(
            {
                let storage = original.storage.copy();
                publish_file(&storage, &shop.join("t.sql"), &damaged).unwrap();
                storage
            },
            Rc::clone(&original.dir),
        );
        assert_eq!(database.ask("SELECT * FROM shop.u"), "7\n");
        let refused = database.run("SELECT * FROM shop.t").unwrap_err();
        assert_eq!(refused.code(), ErrorCode::CorruptedData, "{refused}");
        database.close();
        publish_file(&database.storage, &shop.join("t.sql"), &whole).unwrap();
        database.open();
        assert_eq!(database.snapshot(), original.before, "byte {at} is mended");
        database.close();
    }
}

#[test]
fn names_that_no_file_can_have_are_refused() {
    let mut database = Database::new();
    TWO_TABLES.iter().for_each(|statement| drop(database.ask(statement)));
    let (long, wide) = ("n".repeat(248), format!("`{}`", "\u{e9}".repeat(42)));
    for name in [&long, &wide] {
        for statement in [
            format!("CREATE DATABASE {name}"),
            format!("CREATE TABLE {name} (x UInt8) ENGINE = MergeTree ORDER BY x"),
            format!("CREATE TABLE IF NOT EXISTS {name} (x UInt8) ENGINE = Memory"),
            format!("CREATE OR REPLACE TABLE {name} (x UInt8) ENGINE = Memory"),
            format!("CREATE VIEW {name} AS SELECT 1"),
            format!(
                "CREATE DICTIONARY {name} (id UInt64, name String) PRIMARY KEY id \
                 SOURCE(CLICKHOUSE(DB 'shop' TABLE 't')) LIFETIME(0) LAYOUT(HASHED())"
            ),
            format!("CREATE NAMED COLLECTION {name} AS a = 1"),
            format!("RENAME TABLE shop.t TO shop.{name}"),
            format!("RENAME TABLE shop.t TO shop.short, shop.u TO default.{name}"),
        ] {
            let refused = database.run(&statement).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::ArgumentOutOfBound, "{statement}: {refused}");
        }
    }
    let fits = "n".repeat(247);
    database.ask(&format!("CREATE DATABASE {fits}"));
    database.ask(&format!("RENAME TABLE shop.t TO {fits}.{fits}"));
    database.ask(&format!("CREATE NAMED COLLECTION {fits} AS a = 1"));
    database.crash(Crash::LoseUnsynced);
    assert_eq!(database.ask(&format!("SELECT count() FROM {fits}.{fits}")), "2\n");
    database.ask(&format!("DROP DATABASE {fits}"));
}
