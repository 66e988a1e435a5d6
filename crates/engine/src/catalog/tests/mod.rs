//! Whole databases on a disk that fails: what was acknowledged is there, and the rest is there whole or not at
//! all.

mod alters;
mod failures;
mod objects;
mod versions;

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use basalt_base::fs::{Crash, FaultyStorage, Storage};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::CatalogObject;
use crate::mutation::step as mutation_step;
use crate::names::{ObjectKey, is_built_in};
use crate::{Engine, EngineOptions, Outcome, Request, Result, Session};

/// One crash in this many is followed by another crash.
const LOOKS_AGAIN: u64 = 5;

/// A database on a disk that can fail, and the runtime that it needs.
struct Database {
    runtime: Runtime,
    storage: FaultyStorage,
    /// The lock and what sorts spill: files of the machine.
    dir: Rc<TempDir>,
    session: Option<(Arc<Engine>, Session)>,
}

impl Database {
    fn new() -> Database {
        Database::on(FaultyStorage::new(), Rc::new(tempfile::tempdir().unwrap()))
    }

    /// Opens what is on the disk, where it was before.
    fn on(storage: FaultyStorage, dir: Rc<TempDir>) -> Database {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let mut database = Database { runtime: runtime.unwrap(), storage, dir, session: None };
        database.open();
        database
    }

    fn open(&mut self) {
        let options = EngineOptions { path: Some(self.dir.path().to_owned()), ..EngineOptions::default() };
        let engine = {
            let _inside = self.runtime.enter();
            Engine::open_on(Arc::new(self.storage.clone()), options).unwrap()
        };
        // A merge in the background would be a change at no certain moment.
        engine.instance().background().stop_all();
        let session = engine.session();
        self.session = Some((engine, session));
        self.ask("SET check_table_dependencies = 0");
    }

    /// Power off and on again.
    fn crash(&mut self, crash: Crash) {
        self.close();
        self.storage.crash(crash);
        self.open();
    }

    fn close(&mut self) {
        let (engine, session) = self.session.take().unwrap();
        drop(session);
        self.runtime.block_on(engine.shutdown());
        // The last round of background work may have it for a moment.
        while Arc::strong_count(engine.instance()) > 1 {
            std::thread::yield_now();
        }
    }

    /// Ends the mutations that a crash cut short: there is no background work.
    fn settle(&self) {
        let (engine, _) = self.session.as_ref().unwrap();
        for (database, name, object) in engine.instance().catalog().all_objects() {
            let CatalogObject::Table(table) = object else { continue };
            let Some(parts) = crate::tables::parts_of(table.as_ref()) else { continue };
            let key = ObjectKey { database, name };
            while mutation_step(engine.instance(), &key, table.as_ref(), parts) {}
        }
    }

    fn run(&mut self, sql: &str) -> Result<String> {
        let (_, session) = self.session.as_mut().unwrap();
        self.runtime.block_on(async {
            match session.execute(Request::new(sql)).await? {
                Outcome::Done(_) => Ok(String::new()),
                Outcome::Rows(rows) => {
                    let mut bytes = rows.into_bytes()?;
                    let mut text = Vec::new();
                    while let Some(piece) = bytes.next().await? {
                        text.extend_from_slice(&piece);
                    }
                    Ok(String::from_utf8(text).unwrap())
                }
            }
        })
    }

    #[track_caller]
    fn ask(&mut self, sql: &str) -> String {
        self.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Every object's statement, and the rows of every table and view.
    fn snapshot(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for database in self.ask("SHOW DATABASES").lines().filter(|name| !is_built_in(name)) {
            lines.push(format!("database {database}"));
            for name in self.ask(&format!("SHOW TABLES FROM {database}")).lines() {
                lines.push(self.ask(&format!("SHOW CREATE TABLE {database}.{name}")));
                if lines.last().is_some_and(|statement| !statement.starts_with("CREATE DICTIONARY")) {
                    let rows = self.run(&format!("SELECT * FROM {database}.{name} ORDER BY ALL"));
                    // A view over a table that has another name now answers with an error.
                    lines.push(rows.unwrap_or_else(|error| error.code().name().to_owned()));
                }
            }
        }
        let detached = "SELECT database, table, partition_id, count() FROM system.detached_parts GROUP BY ALL ORDER BY ALL";
        lines.push(self.ask(detached));
        lines.push(self.ask("SELECT database, table, is_permanently FROM system.detached_tables"));
        // With their values, which no statement shows.
        let (engine, _) = self.session.as_ref().unwrap();
        lines.extend(engine.instance().named_collections().all().iter().map(ToString::to_string));
        lines
    }

    /// Everything on disk belongs to an object.
    fn assert_tidy(&self, context: &str) {
        let (engine, _) = self.session.as_ref().unwrap();
        let catalog = engine.instance().catalog();
        let (attached, detached) = (catalog.all_objects(), catalog.all_detached());
        let used = attached.iter().map(|(_, _, object)| object.uuid());
        let used = used.chain(detached.iter().map(|(_, object)| object.uuid));
        let used: Vec<String> = used.map(|uuid| uuid.to_string()).collect();
        for name in self.names(&self.dir.path().join("store")) {
            assert!(used.contains(&name), "{context}: store/{name} belongs to nothing");
        }
        for name in self.names(&self.dir.path().join("named_collections")) {
            assert!(name.ends_with(".sql"), "{context}: named_collections/{name}");
        }
        let metadata = self.dir.path().join("metadata");
        for database in self.names(&metadata) {
            assert!(!database.contains('.') && database != "RENAME", "{context}: metadata/{database}");
            for name in self.names(&metadata.join(&database)) {
                assert!(name.ends_with(".sql"), "{context}: metadata/{database}/{name}");
            }
        }
    }

    fn names(&self, dir: &Path) -> Vec<String> {
        self.storage.list(dir).unwrap().into_iter().map(|entry| entry.name).collect()
    }
}
