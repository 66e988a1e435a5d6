//! Reloads in the background: dictionaries whose LIFETIME has run out.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::DictionaryEntry;
use crate::Engine;
use crate::catalog::CatalogObject;

/// How often it is looked which dictionaries are due.
const PERIOD: Duration = Duration::from_millis(500);

/// Loads at a time: a source that hangs does not keep the others waiting.
const LOADS_MAX: usize = 4;

/// Loads what is due until the engine is gone.
pub(crate) async fn refresh_forever(engine: Weak<Engine>) {
    let places = Arc::new(Semaphore::new(LOADS_MAX));
    loop {
        tokio::time::sleep(PERIOD).await;
        let Some(engine) = engine.upgrade() else { return };
        // Caches grow, and versions go with the last query that has them.
        engine.memory().dictionaries().count_again();
        let now_us = engine.clock().now_us();
        for entry in dictionaries(&engine).into_iter().filter(|entry| entry.is_due(now_us)) {
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else { break };
            let engine = Arc::clone(&engine);
            tokio::task::spawn_blocking(move || {
                entry.refresh(&engine);
                drop(place);
            });
        }
    }
}

/// Loads every dictionary, as `dictionaries_lazy_load = 0` wants it at the start. Those that fail are
/// tried again like any other.
pub(crate) fn load_all(engine: &Arc<Engine>) {
    for entry in dictionaries(engine) {
        entry.load_in_background(engine);
    }
}

pub(super) fn dictionaries(engine: &Engine) -> Vec<Arc<DictionaryEntry>> {
    let objects = engine.catalog().all_objects().into_iter();
    let entries = objects.filter_map(|(_, _, object)| match object {
        CatalogObject::Dictionary(entry) => Some(entry),
        _ => None,
    });
    entries.collect()
}
