//! Background work: merges of parts and reloads of dictionaries, one step after another.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::Engine;
use crate::catalog::CatalogObject;

/// How long the worker sleeps if nobody wakes it.
const IDLE: Duration = Duration::from_secs(1);

/// The worker and the bell that wakes it.
#[derive(Default)]
pub(crate) struct Background {
    wake: Arc<Notify>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Starts the worker; it ends when the engine is gone or [`Background::stop`] is called.
    pub(crate) fn start(&self, engine: &Arc<Engine>) {
        let (engine, wake) = (Arc::downgrade(engine), Arc::clone(&self.wake));
        let handle = tokio::spawn(async move {
            loop {
                let _ = tokio::time::timeout(IDLE, wake.notified()).await;
                let engine = Weak::clone(&engine);
                let round = tokio::task::spawn_blocking(move || engine.upgrade().map(|engine| work(&engine)));
                if !matches!(round.await, Ok(Some(()))) {
                    return;
                }
            }
        });
        *self.worker.lock() = Some(handle);
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Ends the worker after the step that it is in.
    pub(crate) async fn stop(&self) {
        let worker = self.worker.lock().take();
        if let Some(worker) = worker {
            worker.abort();
            // An aborted task ends with an error that says so.
            let _ = worker.await;
        }
    }
}

/// Steps of every table in turn, until none has any left; dictionaries that are old.
fn work(engine: &Arc<Engine>) {
    loop {
        let mut worked = false;
        for (_, _, object) in engine.catalog().all_objects() {
            match object {
                CatalogObject::Table(table) if engine.merges_on() => {
                    // A failed merge leaves the old parts; the table's next write or read says why.
                    worked |= table.work().unwrap_or(false);
                }
                CatalogObject::Dictionary(entry) => {
                    entry.refresh(engine);
                }
                _ => {}
            }
        }
        if !worked {
            return;
        }
    }
}
