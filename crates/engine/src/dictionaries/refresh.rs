//! Reloads in the background: dictionaries whose LIFETIME has run out.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::entry::DictionaryEntry;
use super::host::LoadHost;

/// How often it is checked which dictionaries are due.
const PERIOD: Duration = Duration::from_millis(500);

/// Loads that run at a time: a source that hangs does not make the others wait.
const LOADS_MAX: usize = 4;

/// A host that knows all dictionaries.
pub(crate) trait DictionaryList: LoadHost {
    fn dictionaries(&self) -> Vec<Arc<DictionaryEntry>>;
}

/// Loads what is due until the database is closed.
pub(crate) async fn refresh_forever(list: Weak<dyn DictionaryList>) {
    let permits = Arc::new(Semaphore::new(LOADS_MAX));
    loop {
        tokio::time::sleep(PERIOD).await;
        let Some(list) = list.upgrade() else { return };
        let host: Arc<dyn LoadHost> = Arc::<dyn DictionaryList>::clone(&list);
        // Caches grow, and old versions are freed by the last query that uses them.
        host.memory().dictionaries().count_again();
        let now_us = host.clock().now_us();
        for entry in list.dictionaries().into_iter().filter(|entry| entry.is_due(now_us)) {
            let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { break };
            let host = Arc::clone(&host);
            tokio::task::spawn_blocking(move || {
                entry.refresh(&host);
                drop(permit);
            });
        }
    }
}

/// Loads every dictionary, as `dictionaries_lazy_load = 0` demands at the start. Loads that fail are tried again like
/// any other.
pub(crate) fn load_all(list: &Arc<dyn DictionaryList>) {
    let host: Arc<dyn LoadHost> = Arc::<dyn DictionaryList>::clone(list);
    list.dictionaries().iter().for_each(|entry| entry.load_in_background(&host));
}
