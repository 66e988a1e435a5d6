//! The file of users and grants on a disk that fails.

use std::path::Path;
use std::sync::Arc;

use basalt_access::Access;
use basalt_base::fs::{Crash, FaultyStorage, Storage};
use basalt_base::{ErrorCode, Result};
use basalt_sql::ast::{AccessStatement, Statement};

use super::{AccessControl, DefaultUser};

const PATH: &str = "/data/access/entities.sql";

const STATEMENTS: &[&str] = &[
    "CREATE ROLE r",
    "GRANT SELECT(a, b) ON d.t TO r WITH GRANT OPTION",
    "CREATE USER u IDENTIFIED WITH plaintext_password BY 'it\\'s' HOST LOCAL",
    "GRANT r TO u",
    "CREATE ROW POLICY p ON d.t USING a = 1 TO u",
    "CREATE QUOTA q FOR INTERVAL 1 hour MAX queries = 3 TO u",
    "CREATE SETTINGS PROFILE s SETTINGS max_threads = 2 CONST TO r",
    "DROP ROLE r",
];

fn open(storage: &FaultyStorage) -> Result<AccessControl> {
    open_with(storage, "")
}

fn open_with(storage: &FaultyStorage, statements: &str) -> Result<AccessControl> {
    AccessControl::open(Arc::new(storage.clone()), Path::new("/data"), &DefaultUser::default(), statements)
}

fn parsed(text: &str) -> AccessStatement {
    match basalt_sql::parse_statement(text.as_bytes()).unwrap() {
        Statement::Access(statement) => *statement,
        other => panic!("{other}"),
    }
}

fn run(control: &AccessControl, text: &str) -> Result<()> {
    control.apply(&parsed(text), &Access::unlimited("default"), "default")
}

#[test]
fn a_crash_at_any_sync_leaves_a_change_whole_or_out() {
    for crash in [Crash::LoseUnsynced, Crash::TearUnsynced] {
        let storage = FaultyStorage::new();
        for statement in STATEMENTS {
            let before = open(&storage).unwrap().entities();
            for sync in 0.. {
                let trial = storage.copy();
                let control = open(&trial).unwrap();
                trial.stop_at_sync(trial.sync_count() + sync);
                let acknowledged = run(&control, statement).is_ok();
                let after = control.entities();
                trial.crash(crash);
                let found = open(&trial).unwrap().entities();
                let context = format!("{crash:?} at sync {sync} of {statement}");
                let expected = before.apply(
                    &parsed(statement),
                    basalt_access::Author { access: &Access::unlimited("default"), database: "default" },
                );
                assert!(*found == *before || *found == expected.unwrap(), "{context}");
                if acknowledged {
                    assert_eq!(found, after, "{context}");
                    break;
                }
            }
            run(&open(&storage).unwrap(), statement).unwrap();
        }
    }
}

#[test]
fn every_flipped_bit_and_every_truncation_is_refused() {
    let storage = FaultyStorage::new();
    let control = open(&storage).unwrap();
    STATEMENTS[..4].iter().for_each(|statement| run(&control, statement).unwrap());
    let bytes = storage.read(Path::new(PATH), 1 << 20).unwrap();
    let check = |change: &dyn Fn(&mut Vec<u8>)| {
        let damaged = storage.copy();
        damaged.damage(Path::new(PATH), |bytes| change(bytes));
        let error = open(&damaged).err().expect("damaged");
        assert_eq!(error.code(), ErrorCode::CorruptedData);
        assert!(error.message().contains("users and grants"), "{error}");
    };
    for bit in 0..bytes.len() * 8 {
        check(&|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
    }
    for end in 0..bytes.len() {
        check(&|bytes| bytes.truncate(end));
    }
}

#[test]
fn statements_of_the_configuration_replace_what_is_stored() {
    let storage = FaultyStorage::new();
    run(&open(&storage).unwrap(), "CREATE USER u IDENTIFIED BY 'old' HOST LOCAL").unwrap();
    let control = open_with(&storage, "CREATE USER u;\nGRANT SELECT ON d.* TO u").unwrap();
    let entities = control.entities();
    assert_eq!(entities.users["u"].hosts().len(), 1);
    assert_eq!(entities.grant_statements("u").len(), 1);
    assert!(control.authenticate("u", basalt_access::Proof::Password(""), None, 0).is_ok());
    let error = open_with(&storage, "SELECT 1").err().expect("no statement about users");
    assert!(error.message().contains("configuration"), "{error}");
    assert!(open_with(&storage, "CREATE USER u SETTINGS nosuch = 1").is_err());
}

#[test]
fn the_user_of_the_configuration_is_changed_there() {
    let control = open(&FaultyStorage::new()).unwrap();
    for statement in
        ["DROP USER default", "ALTER USER default IDENTIFIED BY 'x'", "REVOKE ALL ON *.* FROM default"]
    {
        assert_eq!(
            run(&control, statement).unwrap_err().code(),
            ErrorCode::AccessStorageReadonly,
            "{statement}"
        );
    }
}
