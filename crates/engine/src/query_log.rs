//! The query log: the start and the end of every query, in memory, the newest last.
//!
//! `system.query_log` reads it. The log keeps the newest [`ENTRIES_MAX`] entries of this process.

use std::collections::VecDeque;

use basalt_base::Error;
use parking_lot::Mutex;

use crate::context::QueryContext;
use crate::outcome::ProgressSnapshot;
use crate::request::Interface;

/// Older entries make room for newer ones beyond this.
const ENTRIES_MAX: usize = 100_000;

/// Entries in order of time.
#[derive(Default)]
pub(crate) struct QueryLog {
    entries: Mutex<VecDeque<QueryLogEntry>>,
}

/// The event of an entry: the labels of the column `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryLogKind {
    Start = 1,
    Finish = 2,
    ExceptionBeforeStart = 3,
    ExceptionWhileProcessing = 4,
}

impl QueryLogKind {
    /// The label of the column `type`.
    pub(crate) fn label(self) -> &'static str {
        match self {
            QueryLogKind::Start => "QueryStart",
            QueryLogKind::Finish => "QueryFinish",
            QueryLogKind::ExceptionBeforeStart => "ExceptionBeforeStart",
            QueryLogKind::ExceptionWhileProcessing => "ExceptionWhileProcessing",
        }
    }
}

/// One row of `system.query_log`.
#[derive(Clone, Debug)]
pub(crate) struct QueryLogEntry {
    pub(crate) kind: QueryLogKind,
    /// Microseconds since 1970.
    pub(crate) time_us: u64,
    pub(crate) started_us: u64,
    pub(crate) duration_us: u64,
    pub(crate) progress: ProgressSnapshot,
    pub(crate) peak_memory: u64,
    pub(crate) database: String,
    pub(crate) query: String,
    pub(crate) query_kind: &'static str,
    pub(crate) query_id: String,
    pub(crate) user: String,
    pub(crate) interface: Interface,
    pub(crate) exception_code: u16,
    pub(crate) exception: String,
    pub(crate) events: Vec<(&'static str, u64)>,
    pub(crate) used_dictionaries: Vec<String>,
    /// The setting of that name.
    pub(crate) log_comment: String,
}

impl QueryLog {
    /// Writes the entry for an event of `query`, if its settings ask for it.
    pub(crate) fn record(&self, query: &QueryContext, kind: QueryLogKind, error: Option<&Error>) {
        let settings = &query.settings;
        let duration_us = query.started.elapsed().as_micros() as u64;
        let too_short = duration_us / 1000 < settings.log_queries_min_query_duration_ms;
        if !settings.log_queries || too_short {
            return;
        }
        let started = kind == QueryLogKind::Start;
        let progress = if started { ProgressSnapshot::default() } else { query.progress.snapshot() };
        let entry = QueryLogEntry {
            kind,
            time_us: query.started_us + if started { 0 } else { duration_us },
            started_us: query.started_us,
            duration_us: if started { 0 } else { duration_us },
            progress,
            peak_memory: query.memory.peak(),
            database: query.database.clone(),
            query: query.text.clone(),
            query_kind: query.kind,
            query_id: query.id.clone(),
            user: query.user.clone(),
            interface: query.interface,
            exception_code: error.map_or(0, |error| error.code().number()),
            exception: error.map(ToString::to_string).unwrap_or_default(),
            log_comment: settings.log_comment.clone(),
            used_dictionaries: if started { Vec::new() } else { query.load_chain.used() },
            events: if started { Vec::new() } else { query.events.snapshot(&progress, duration_us) },
        };
        let mut entries = self.entries.lock();
        if entries.len() == ENTRIES_MAX {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    pub(crate) fn entries(&self) -> Vec<QueryLogEntry> {
        self.entries.lock().iter().cloned().collect()
    }
}
