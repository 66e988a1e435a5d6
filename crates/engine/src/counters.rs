//! Counters of all statements since the data directory was opened: `system.events` and `system.errors`.

use std::collections::BTreeMap;

use basalt_base::{Error, ErrorCode};
use parking_lot::Mutex;

use crate::context::QueryContext;

/// Bytes of an error's message that are kept.
const MESSAGE_BYTES_MAX: usize = 1000;

/// The counters of an instance.
#[derive(Default)]
pub(crate) struct Counters {
    events: Mutex<BTreeMap<&'static str, u64>>,
    errors: Mutex<BTreeMap<u16, CountedError>>,
}

/// The errors of one code.
#[derive(Clone, Debug)]
pub(crate) struct CountedError {
    pub(crate) code: ErrorCode,
    pub(crate) count: u64,
    /// Microseconds since 1970.
    pub(crate) last_us: u64,
    pub(crate) last_message: String,
    pub(crate) last_query_id: String,
}

impl Counters {
    /// Counts a statement at its end.
    pub(crate) fn count(&self, query: &QueryContext, error: Option<&Error>) {
        let elapsed_us = query.started.elapsed().as_micros() as u64;
        let mut events = self.events.lock();
        let mut add = |name, count| *events.entry(name).or_default() += count;
        add("Query", 1);
        add("QueryTimeMicroseconds", elapsed_us);
        match query.kind {
            "Select" => add("SelectQuery", 1),
            "Insert" => add("InsertQuery", 1),
            _ => {}
        }
        if error.is_some() {
            add("FailedQuery", 1);
        }
        for (name, count) in query.events.snapshot(&query.progress.snapshot(), elapsed_us) {
            add(name, count);
        }
        drop(events);
        if let Some(error) = error {
            self.count_error(query, error, query.started_us + elapsed_us);
        }
    }

    fn count_error(&self, query: &QueryContext, error: &Error, now_us: u64) {
        let (code, mut message) = (error.code(), error.message().to_owned());
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        let mut errors = self.errors.lock();
        let count = errors.get(&code.number()).map_or(0, |error| error.count) + 1;
        let counted = CountedError {
            code,
            count,
            last_us: now_us,
            last_message: message,
            last_query_id: query.id.clone(),
        };
        errors.insert(code.number(), counted);
    }

    pub(crate) fn events(&self) -> BTreeMap<&'static str, u64> {
        self.events.lock().clone()
    }

    /// By code.
    pub(crate) fn errors(&self) -> Vec<CountedError> {
        self.errors.lock().values().cloned().collect()
    }
}
