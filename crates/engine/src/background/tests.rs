//! A step that panics ends neither its worker nor the work on other tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use basalt_base::Result;

use super::BackgroundWork;
use super::worker::step;
use crate::catalog::CatalogObject;
use crate::names::ObjectKey;
use crate::scan::{BlockSource, ScanRequest};
use crate::tables::{PartsTable, Table, TableDefinition};
use crate::{Engine, EngineOptions, Request};

/// A table whose background work panics.
struct PanickingTable {
    definition: Arc<TableDefinition>,
    steps: Arc<AtomicUsize>,
}

impl Table for PanickingTable {
    fn engine(&self) -> &'static str {
        "Memory"
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition)
    }

    fn scan(&self, _request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        Err(self.refuses("SELECT"))
    }

    fn set_definition(&self, _definition: Arc<TableDefinition>) -> Result<()> {
        Ok(())
    }

    fn as_parts(&self) -> Option<&dyn PartsTable> {
        self.steps.fetch_add(1, Ordering::SeqCst);
        panic!("a step of a test panics")
    }
}

#[test]
fn worker_outlives_a_step_that_panics() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let engine = {
        let _inside = runtime.enter();
        Engine::open(EngineOptions::default()).unwrap()
    };
    let mut session = engine.session();
    let mut ask = |sql: &str| {
        let done = runtime.block_on(session.execute(Request::new(sql)));
        done.map(drop).unwrap_or_else(|error| panic!("{sql}: {error}"));
    };
    ask("CREATE TABLE bad (x UInt8) ENGINE = Memory");
    let Some(CatalogObject::Table(table)) = engine.instance().catalog().find("default", "bad") else {
        panic!("it is there")
    };
    let steps = Arc::new(AtomicUsize::new(0));
    let bad = PanickingTable { definition: table.definition(), steps: Arc::clone(&steps) };
    let key = ObjectKey { database: "default".to_owned(), name: "bad".to_owned() };
    let work: Arc<dyn BackgroundWork> = Arc::clone(engine.instance()) as _;
    assert!(!step(&work, &key, &bad));
    assert_eq!(steps.load(Ordering::SeqCst), 1);
    assert!(!step(&work, &key, &bad), "it rests");
    assert_eq!(steps.load(Ordering::SeqCst), 1);
    engine.instance().background().start_table(table.definition().uuid);
    engine.instance().catalog().put("default", "bad", CatalogObject::Table(Arc::new(bad))).unwrap();
    engine.instance().background().wake();
    while steps.load(Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    // The statement waits for the worker.
    ask("CREATE TABLE good (x UInt8) ENGINE = MergeTree ORDER BY x");
    ask("INSERT INTO good VALUES (1), (2)");
    ask("ALTER TABLE good DELETE WHERE x = 1 SETTINGS mutations_sync = 1");
    runtime.block_on(engine.shutdown());
}
