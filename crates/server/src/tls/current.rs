//! The configuration of new connections. It follows its files.
//!
//! # Concurrency
//!
//! New connections look at the files at most once a second. One of them reads changed files, the others go on with the
//! configuration that there is. Files that cannot be used change nothing but the log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_engine::Result;
use parking_lot::{Mutex, RwLock};

use super::configuration::Configurations;
use super::files::{Stamps, stamps};
use super::options::TlsOptions;

/// The pause between two looks at the files.
const PAUSE: Duration = Duration::from_secs(1);

/// TLS of all ports.
pub(crate) struct Tls {
    options: TlsOptions,
    current: RwLock<Arc<Configurations>>,
    seen: Mutex<Seen>,
    log: Option<fn(&str)>,
}

/// The files when they were last looked at.
struct Seen {
    at: Instant,
    stamps: Stamps,
}

impl Tls {
    /// Reads the files. Later failures go to `log`.
    pub(crate) fn open(options: TlsOptions, log: Option<fn(&str)>) -> Result<Arc<Tls>> {
        // Before the files are read: a change in between is noticed later.
        let seen = Seen { at: Instant::now(), stamps: stamps(&options) };
        let current = Arc::new(Configurations::load(&options)?);
        Ok(Arc::new(Tls { options, current: RwLock::new(current), seen: Mutex::new(seen), log }))
    }

    /// Reads the files again. If they cannot be used, the configuration does not change.
    pub(crate) fn reload(&self) -> Result<()> {
        let mut seen = self.seen.lock();
        self.load(&mut seen)
    }

    pub(crate) fn requires_for_postgres(&self) -> bool {
        self.options.require_for_postgres
    }

    /// The configuration of a new connection.
    pub(super) async fn configurations(self: &Arc<Self>) -> Arc<Configurations> {
        if self.is_due() {
            let tls = Arc::clone(self);
            // A look that panics changes nothing.
            let _ = tokio::task::spawn_blocking(move || tls.look()).await;
        }
        Arc::clone(&self.current.read())
    }

    fn is_due(&self) -> bool {
        self.seen.try_lock().is_some_and(|seen| seen.at.elapsed() >= PAUSE)
    }

    /// Reads the files again if they have changed.
    fn look(&self) {
        let Some(mut seen) = self.seen.try_lock() else { return };
        if seen.at.elapsed() < PAUSE {
            return;
        }
        seen.at = Instant::now();
        if stamps(&self.options) != seen.stamps {
            // The failure is in the log.
            let _ = self.load(&mut seen);
        }
    }

    fn load(&self, seen: &mut Seen) -> Result<()> {
        *seen = Seen { at: Instant::now(), stamps: stamps(&self.options) };
        match Configurations::load(&self.options) {
            Ok(loaded) => {
                *self.current.write() = Arc::new(loaded);
                let path = self.options.certificate_file.display();
                self.say(&format!("TLS: the certificate was reloaded from {path}"));
                Ok(())
            }
            Err(error) => {
                self.say(&format!("{error}; the previous certificate stays in use"));
                Err(error)
            }
        }
    }

    fn say(&self, line: &str) {
        if let Some(log) = self.log {
            log(line);
        }
    }
}
