//! The statements that run, by the keys with which another connection may end them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use basalt_engine::CancelHandle;
use parking_lot::Mutex;
use uuid::Uuid;

/// The statements of all connections.
#[derive(Default)]
pub(super) struct Cancels {
    last: AtomicU32,
    running: Mutex<HashMap<u32, Running>>,
}

struct Running {
    secret: u32,
    cancel: Option<CancelHandle>,
}

/// The key of one connection; it means nothing after this was dropped.
pub(super) struct CancelKey {
    cancels: Arc<Cancels>,
    pub(super) process: u32,
    pub(super) secret: u32,
}

impl Cancels {
    /// The key of a new connection.
    pub(super) fn open(self: &Arc<Self>) -> CancelKey {
        // Clients take it for a signed number.
        let process = self.last.fetch_add(1, Ordering::Relaxed) % (i32::MAX as u32) + 1;
        // The first 32 bits of a UUID of version 4 are random.
        let secret = Uuid::new_v4().as_fields().0;
        self.running.lock().insert(process, Running { secret, cancel: None });
        CancelKey { cancels: Arc::clone(self), process, secret }
    }

    /// Ends the statement of a connection, if the key is right.
    pub(super) fn cancel(&self, process: u32, secret: u32) {
        let running = self.running.lock();
        let found = running.get(&process).filter(|running| running.secret == secret);
        if let Some(cancel) = found.and_then(|running| running.cancel.as_ref()) {
            cancel.cancel();
        }
    }
}

impl CancelKey {
    /// What a statement of the connection, from now on, is cancelled with.
    pub(super) fn set(&self, cancel: Option<CancelHandle>) {
        if let Some(running) = self.cancels.running.lock().get_mut(&self.process) {
            running.cancel = cancel;
        }
    }
}

impl Drop for CancelKey {
    fn drop(&mut self) {
        self.cancels.running.lock().remove(&self.process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_key_cancels() {
        let cancels = Arc::new(Cancels::default());
        let key = cancels.open();
        let cancel = CancelHandle::default();
        key.set(Some(cancel.clone()));
        cancels.cancel(key.process, key.secret.wrapping_add(1));
        cancels.cancel(key.process + 1, key.secret);
        assert!(!cancel.is_cancelled());
        cancels.cancel(key.process, key.secret);
        assert!(cancel.is_cancelled());
        let process = key.process;
        drop(key);
        assert!(!cancels.running.lock().contains_key(&process));
    }
}
