//! The thread of an open Succinct table: it builds and merges segments, as the engine's workers do in a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use basalt_base::{Error, Result};
use basalt_succinct::raw::RawTable;
use basalt_succinct::{Step, WorkWatch};
use parking_lot::{Condvar, Mutex};

/// The pause after work that failed.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Ends the thread when it is dropped; work that runs then is given up, and nothing has changed.
pub(crate) struct Background {
    signals: Arc<Signals>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Signals {
    is_due: Mutex<bool>,
    changed: Condvar,
    is_ending: AtomicBool,
}

impl Background {
    pub(crate) fn start(table: &Arc<RawTable>) -> Result<Background> {
        let signals = Arc::new(Signals { is_due: Mutex::new(true), ..Signals::default() });
        let (table, own) = (Arc::clone(table), Arc::clone(&signals));
        let thread = std::thread::Builder::new().name("kv-segments".to_owned());
        let thread = thread.spawn(move || own.work(&table));
        let thread = thread.map_err(|error| Error::logical(format!("no thread for segments: {error}")))?;
        Ok(Background { signals, thread: Some(thread) })
    }

    /// There may be work.
    pub(crate) fn wake(&self) {
        *self.signals.is_due.lock() = true;
        self.signals.changed.notify_one();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.signals.is_ending.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

impl Signals {
    fn work(&self, table: &RawTable) {
        while self.wait() {
            let failed = loop {
                match table.step(self) {
                    Ok(true) => {}
                    Ok(false) => break false,
                    Err(_) => break true,
                }
            };
            if failed && !self.is_ending() {
                let mut is_due = self.is_due.lock();
                *is_due = true;
                self.changed.wait_for(&mut is_due, RETRY_AFTER);
            }
        }
    }

    /// Waits for work; `false` at the end.
    fn wait(&self) -> bool {
        let mut is_due = self.is_due.lock();
        while !*is_due {
            self.changed.wait(&mut is_due);
        }
        *is_due = false;
        !self.is_ending()
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }
}

impl WorkWatch for Signals {
    fn begins(&self, _step: &Step) {}

    fn reads(&self, _rows: u64) -> Result<()> {
        if self.is_ending() {
            return Err(Error::logical("the database is being closed"));
        }
        Ok(())
    }

    fn ends(&self) {}
}

/// Work that the caller waits for.
pub(crate) struct Awaited;

impl WorkWatch for Awaited {
    fn begins(&self, _step: &Step) {}

    fn reads(&self, _rows: u64) -> Result<()> {
        Ok(())
    }

    fn ends(&self) {}
}
