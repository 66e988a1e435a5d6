//! What a dictionary is at the moment: the version that answers, and how its last load went.

use std::sync::Arc;

use basalt_base::Error;
use basalt_dict::Dictionary;

use super::progress::LoadStep;

/// A load as slow as this is not repeated by every query that needs the dictionary.
const SLOW_LOAD_SECONDS: f64 = 1.0;

/// What `system.dictionaries` shows of a dictionary.
#[derive(Clone, Default)]
pub(crate) struct DictionaryState {
    pub(crate) current: Option<Arc<dyn Dictionary>>,
    /// The failure of the last load, if it failed.
    pub(crate) failure: Option<Error>,
    /// Why the dictionary's file could not be used or written.
    pub(super) file_failure: Option<Error>,
    pub(crate) is_loading: bool,
    /// Microseconds since 1970; 0 is never.
    pub(crate) loading_start_us: u64,
    pub(crate) last_update_us: u64,
    pub(crate) loading_seconds: f64,
    /// Failed loads since the last that went well.
    pub(crate) error_count: u64,
    /// Rows that the load in progress, or the last one, has read.
    pub(crate) rows_read: u64,
    pub(crate) step: LoadStep,
    /// When it is loaded again, in microseconds since 1970.
    pub(super) next_load_us: Option<u64>,
    /// Whether the version that answers is that of a file, which nobody has compared with the source yet.
    pub(super) is_of_earlier_run: bool,
    pub(super) origin: Origin,
}

/// What the next load must know of the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// What the source answered to its INVALIDATE_QUERY.
    pub(super) revision: Option<String>,
    /// Seconds since 1970: rows that changed later were not read, or may not have been.
    pub(super) watermark: Option<i64>,
}

/// The column `status`; the numbers are ClickHouse's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoadStatus {
    #[default]
    NotLoaded = 0,
    Loaded = 1,
    Failed = 2,
    Loading = 3,
    FailedAndReloading = 4,
    LoadedAndReloading = 5,
    NotExist = 6,
}

impl DictionaryState {
    /// The version that answers, unless its file was found damaged.
    pub(super) fn usable(&self) -> Option<&Arc<dyn Dictionary>> {
        self.current.as_ref().filter(|current| !current.is_damaged())
    }

    pub(crate) fn status(&self) -> LoadStatus {
        match (&self.current, &self.failure, self.is_loading) {
            (Some(_), _, false) => LoadStatus::Loaded,
            (Some(_), _, true) => LoadStatus::LoadedAndReloading,
            (None, Some(_), false) => LoadStatus::Failed,
            (None, Some(_), true) => LoadStatus::FailedAndReloading,
            (None, None, false) => LoadStatus::NotLoaded,
            (None, None, true) => LoadStatus::Loading,
        }
    }

    pub(crate) fn last_exception(&self) -> String {
        let failure = self.failure.as_ref().or(self.file_failure.as_ref());
        failure.map(ToString::to_string).unwrap_or_default()
    }

    /// The error of a load that failed a moment ago and would keep every query waiting.
    pub(super) fn recent_failure(&self, now_us: u64) -> Option<&Error> {
        let is_recent = self.next_load_us.is_some_and(|next| now_us < next);
        self.failure.as_ref().filter(|_| is_recent && self.loading_seconds >= SLOW_LOAD_SECONDS)
    }
}

impl LoadStatus {
    pub(crate) const ALL: [LoadStatus; 7] = [
        LoadStatus::NotLoaded,
        LoadStatus::Loaded,
        LoadStatus::Failed,
        LoadStatus::Loading,
        LoadStatus::FailedAndReloading,
        LoadStatus::LoadedAndReloading,
        LoadStatus::NotExist,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            LoadStatus::NotLoaded => "NOT_LOADED",
            LoadStatus::Loaded => "LOADED",
            LoadStatus::Failed => "FAILED",
            LoadStatus::Loading => "LOADING",
            LoadStatus::FailedAndReloading => "FAILED_AND_RELOADING",
            LoadStatus::LoadedAndReloading => "LOADED_AND_RELOADING",
            LoadStatus::NotExist => "NOT_EXIST",
        }
    }
}
