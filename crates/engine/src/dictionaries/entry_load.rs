//! How a dictionary loads its next version, and makes that the current one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use basalt_base::{Error, Result};
use basalt_dict::{Dictionary, UnnamedVersion};
use uuid::Uuid;

use super::built::Built;
use super::entry::DictionaryEntry;
use super::host::LoadHost;
use super::load;
use super::load::{Identity, Loaded};
use super::load_chain::LoadChain;
use super::load_latch::Outcome;
use super::memory::LoadMemory;
use super::progress::LoadStep;
use super::reload_via_file::{LARGE_BYTES, fallback_reason};
use super::schedule::backoff_us;
use super::source::LoadRequest;
use super::status::{LoadTimes, NewVersion};

/// A new version where it will answer from.
struct Placed {
    version: NewVersion,
    /// The file that it answers from until it is read into memory.
    unnamed: Option<Box<UnnamedVersion>>,
    /// Why it is not where it should be.
    file_failure: Option<Error>,
    memory: Option<LoadMemory>,
}

impl DictionaryEntry {
    /// Loads a version. `chain` is the chain of the queries that its source runs.
    pub(super) fn load(&self, host: &Arc<dyn LoadHost>, chain: Arc<LoadChain>) -> Outcome {
        let (current, origin) = self.state.write().begin(host.clock().now_us());
        let started = Instant::now();
        let refreshed = self.refresh_parameters(host.as_ref());
        let request = self.request(host, Arc::clone(&chain));
        let old_chain = self.source_chain.lock().replace(chain);
        let definition = self.definition();
        let load = || {
            let previous = current.as_ref().map(|current| (current, &origin));
            load::load(&definition, self.identity(), request, previous, self.file.as_ref(), &self.progress)
        };
        let loaded = refreshed.and_then(|()| {
            // A panic below is our bug: the load fails, and may be tried again.
            catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(|_| Err(Error::logical("a load panicked")))
        });
        let placed = loaded.and_then(|loaded| self.place(host.as_ref(), loaded, current.as_ref()));
        self.progress.enter(LoadStep::None);
        let seconds = started.elapsed().as_secs_f64();
        match placed {
            Ok(placed) => Ok(self.switch_to(placed, seconds, current, host.as_ref())),
            Err(error) => {
                *self.source_chain.lock() = old_chain;
                let error: Error =
                    error.within(format!("dictionary `{}` could not be loaded", self.identity().name));
                let mut state = self.state.write();
                let failures = state.fail(error.clone(), seconds);
                let next_load_us = self.next_attempt_us(host.as_ref(), failures, state.needs_load());
                state.retry_at(next_load_us);
                Err(error)
            }
        }
    }

    /// Puts what was loaded where it answers from: the dictionary's file if it has one.
    fn place(
        &self,
        host: &dyn LoadHost,
        loaded: Loaded,
        previous: Option<&Arc<dyn Dictionary>>,
    ) -> Result<Placed> {
        let Loaded { built, origin, fallback_reason: reason, memory } = loaded;
        let (dictionary, unnamed, file_failure) = match (&self.file, built) {
            (Some(file), built) => {
                let (dictionary, failure) = file.save(host, &self.definition(), built, &origin, previous)?;
                (dictionary, None, failure)
            }
            (None, Built::Memory(dictionary)) => (dictionary, None, reason.as_ref().map(fallback_reason)),
            (None, Built::UnnamedFile(unnamed)) => (Arc::clone(unnamed.dictionary()), Some(unnamed), None),
            (None, Built::OwnFile(_)) => {
                return Err(Error::logical("a dictionary without a file was loaded into one"));
            }
        };
        Ok(Placed { version: NewVersion { dictionary, origin }, unnamed, file_failure, memory })
    }

    /// Makes the new version the current one, frees the old one, and reads the new one into memory if it is to be
    /// there.
    fn switch_to(
        &self,
        placed: Placed,
        seconds: f64,
        old: Option<Arc<dyn Dictionary>>,
        host: &dyn LoadHost,
    ) -> Arc<dyn Dictionary> {
        let Placed { version, unnamed, file_failure, memory } = placed;
        {
            let mut state = self.state.write();
            // Why the file of an earlier run was not used stays visible until the next load.
            if file_failure.is_some() || old.is_some() {
                state.set_file_failure(file_failure);
            }
            let times = LoadTimes {
                seconds,
                loaded_us: host.clock().now_us(),
                next_load_us: self.next_load_us(host),
            };
            state.succeed(&version, times);
        }
        drop(old);
        let is_large = version.dictionary.stats().bytes_allocated > LARGE_BYTES;
        if let Some(release) = host.release_memory().filter(|_| is_large) {
            release();
        }
        let current = match unnamed {
            Some(unnamed) => self.read_into_memory(version.dictionary, *unnamed),
            None => version.dictionary,
        };
        // Counted as a version from now on.
        drop(memory);
        host.memory().dictionaries().add(&current);
        current
    }

    /// Reads the current version, which answers from an unnamed file, into memory, and makes that the current version.
    fn read_into_memory(&self, in_file: Arc<dyn Dictionary>, unnamed: UnnamedVersion) -> Arc<dyn Dictionary> {
        self.progress.enter(LoadStep::IntoMemory);
        let read = unnamed.read_into_memory();
        self.progress.enter(LoadStep::None);
        let mut state = self.state.write();
        match read {
            Ok(in_memory) => {
                state.replace(&in_file, Arc::clone(&in_memory));
                in_memory
            }
            Err(error) => {
                let what = "the dictionary was reloaded, and answers from a file instead of memory";
                state.set_file_failure(Some(error.within(what)));
                in_file
            }
        }
    }

    fn identity(&self) -> Identity {
        let (database, name) = self.name();
        Identity { uuid: self.uuid, name: format!("{database}.{name}") }
    }

    pub(super) fn request(&self, host: &Arc<dyn LoadHost>, chain: Arc<LoadChain>) -> LoadRequest {
        let definition = self.definition();
        LoadRequest {
            host: Arc::clone(host),
            database: self.name().0,
            columns: definition.source_columns(),
            exact_keys: definition.exact_keys(),
            expressions: Arc::clone(&definition.expressions),
            settings: definition.settings.query.clone(),
            chain,
            tombstone: definition.settings.tombstone.clone(),
            defaults: definition.defaults(),
        }
    }

    /// When a version that was just loaded is due for a reload.
    pub(super) fn next_load_us(&self, host: &dyn LoadHost) -> Option<u64> {
        if self.definition().spec.layout.kind.is_cache() {
            // Each row of a cache has a lifetime of its own.
            return None;
        }
        let until = self.definition().lifetime.until_next_us(Uuid::new_v4().as_u64_pair().0)?;
        Some(host.clock().now_us().saturating_add(until))
    }

    /// When a load is tried again after this many failures in a row: never, if the current version is of this run and
    /// has no LIFETIME.
    fn next_attempt_us(&self, host: &dyn LoadHost, failures: u64, needs_load: bool) -> Option<u64> {
        let random = Uuid::new_v4().as_u64_pair().0;
        if !needs_load {
            self.definition().lifetime.until_next_us(random)?;
        }
        Some(host.clock().now_us().saturating_add(backoff_us(failures, random)))
    }
}
