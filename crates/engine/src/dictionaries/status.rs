//! The state machine of a dictionary: the version that answers, how its last load went, and all transitions.

use std::sync::Arc;

use basalt_base::Error;
use basalt_dict::Dictionary;

use super::progress::LoadStep;

/// A load as slow as this is not repeated by every query that needs the dictionary.
const SLOW_LOAD_SECONDS: f64 = 1.0;

/// Whether a version answers, and whether a load runs.
///
/// ```text
/// NotLoaded --begin--> Loading --succeed--> Loaded --begin--> Reloading --succeed, fail--> Loaded
///                      Loading --fail-----> Failed --begin--> FailedAndReloading --succeed--> Loaded
///                                                             FailedAndReloading --fail-----> Failed
/// ```
/// A version whose file is damaged is dropped: `Loaded` becomes `NotLoaded` or `Failed`.
#[derive(Clone, Default)]
pub(crate) enum DictionaryStatus {
    #[default]
    NotLoaded,
    Loading,
    Loaded(Arc<dyn Dictionary>),
    /// The version answers while the next one is loaded.
    Reloading(Arc<dyn Dictionary>),
    Failed,
    FailedAndReloading,
}

/// The status, and what `system.dictionaries` shows of the last load.
#[derive(Clone, Default)]
pub(crate) struct DictionaryState {
    status: DictionaryStatus,
    /// The failure of the last load, if it failed. An older version may still answer.
    failure: Option<Error>,
    /// Why the dictionary's file could not be used or written.
    file_failure: Option<Error>,
    /// Microseconds since 1970; 0 is never.
    pub(crate) loading_start_us: u64,
    pub(crate) last_update_us: u64,
    pub(crate) loading_seconds: f64,
    /// Failed loads since the last one that succeeded.
    pub(crate) error_count: u64,
    /// Rows that the load in progress, or the last one, has read.
    pub(crate) rows_read: u64,
    pub(crate) step: LoadStep,
    /// When it is loaded again, in microseconds since 1970.
    next_load_us: Option<u64>,
    /// Whether the version was opened from the file of an earlier run, and was not compared with the source since.
    is_of_earlier_run: bool,
    origin: Origin,
}

/// The state of the source at the last load, which the next load compares.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// The source's answer to its INVALIDATE_QUERY.
    pub(super) revision: Option<String>,
    /// Seconds since 1970: all rows that changed before are in the version.
    pub(super) watermark: Option<i64>,
}

/// A version that a load made or a file held.
pub(super) struct NewVersion {
    pub(super) dictionary: Arc<dyn Dictionary>,
    pub(super) origin: Origin,
}

impl DictionaryStatus {
    /// Names and numbers of the column `status`, which are ClickHouse's.
    pub(crate) const NAMES: [(&'static str, i8); 7] = [
        ("NOT_LOADED", 0),
        ("LOADED", 1),
        ("FAILED", 2),
        ("LOADING", 3),
        ("FAILED_AND_RELOADING", 4),
        ("LOADED_AND_RELOADING", 5),
        ("NOT_EXIST", 6),
    ];

    pub(crate) fn number(&self) -> i8 {
        match self {
            DictionaryStatus::NotLoaded => 0,
            DictionaryStatus::Loaded(_) => 1,
            DictionaryStatus::Failed => 2,
            DictionaryStatus::Loading => 3,
            DictionaryStatus::FailedAndReloading => 4,
            DictionaryStatus::Reloading(_) => 5,
        }
    }

    fn version(&self) -> Option<&Arc<dyn Dictionary>> {
        match self {
            DictionaryStatus::Loaded(version) | DictionaryStatus::Reloading(version) => Some(version),
            _ => None,
        }
    }

    fn begun(self) -> DictionaryStatus {
        match self {
            DictionaryStatus::NotLoaded => DictionaryStatus::Loading,
            DictionaryStatus::Loaded(version) => DictionaryStatus::Reloading(version),
            DictionaryStatus::Failed => DictionaryStatus::FailedAndReloading,
            running => running,
        }
    }

    fn failed(self) -> DictionaryStatus {
        match self {
            DictionaryStatus::Loaded(version) | DictionaryStatus::Reloading(version) => {
                DictionaryStatus::Loaded(version)
            }
            _ => DictionaryStatus::Failed,
        }
    }
}

impl DictionaryState {
    pub(crate) fn status(&self) -> &DictionaryStatus {
        &self.status
    }

    /// The version that answers, even if its file was found damaged since.
    pub(crate) fn version(&self) -> Option<&Arc<dyn Dictionary>> {
        self.status.version()
    }

    /// The version that answers, unless its file was found damaged.
    pub(super) fn usable(&self) -> Option<&Arc<dyn Dictionary>> {
        self.version().filter(|version| !version.is_damaged())
    }

    pub(crate) fn is_loading(&self) -> bool {
        use DictionaryStatus::{FailedAndReloading, Loading, Reloading};
        matches!(self.status, Loading | Reloading(_) | FailedAndReloading)
    }

    /// Whether a load succeeded, failed or runs.
    pub(super) fn was_tried(&self) -> bool {
        !matches!(self.status, DictionaryStatus::NotLoaded)
    }

    pub(crate) fn last_exception(&self) -> String {
        let failure = self.failure.as_ref().or(self.file_failure.as_ref());
        failure.map(ToString::to_string).unwrap_or_default()
    }

    /// The error of a slow load that failed a moment ago: to repeat it would make every query wait.
    pub(super) fn recent_failure(&self, now_us: u64) -> Option<&Error> {
        let is_recent = self.next_load_us.is_some_and(|next| now_us < next);
        self.failure.as_ref().filter(|_| is_recent && self.loading_seconds >= SLOW_LOAD_SECONDS)
    }

    /// Whether its LIFETIME has run out, or the pause after a failure.
    pub(super) fn is_due(&self, now_us: u64) -> bool {
        !self.is_loading() && self.next_load_us.is_some_and(|next| next <= now_us)
    }

    /// The revision of the source that the version was loaded from, if the last load succeeded and the source reports
    /// it.
    pub(super) fn known_revision(&self) -> Option<&str> {
        self.version().filter(|_| self.failure.is_none()).and(self.origin.revision.as_deref())
    }

    /// Whether the dictionary's file may be opened: a load that failed did not find it of use either.
    pub(super) fn may_open_file(&self) -> bool {
        self.failure.is_none() && self.file_failure.is_none()
    }

    /// Whether a load that failed must be tried again whatever the LIFETIME: nothing answers, or only an earlier
    /// run's version.
    pub(super) fn needs_load(&self) -> bool {
        self.version().is_none() || self.is_of_earlier_run
    }

    /// A load begins; returns the version that it may build on.
    pub(super) fn begin(&mut self, now_us: u64) -> (Option<Arc<dyn Dictionary>>, Origin) {
        self.status = std::mem::take(&mut self.status).begun();
        self.loading_start_us = now_us;
        (self.usable().cloned(), self.origin.clone())
    }

    /// The load has made `version`, which answers from now on.
    pub(super) fn succeed(&mut self, version: &NewVersion, times: LoadTimes) {
        self.put(version, times);
        self.error_count = 0;
        self.failure = None;
        self.is_of_earlier_run = false;
    }

    /// Notes why the dictionary's file is not used, or that it is used again.
    pub(super) fn set_file_failure(&mut self, failure: Option<Error>) {
        self.file_failure = failure;
    }

    /// The load has failed; returns how many have in a row.
    pub(super) fn fail(&mut self, error: Error, seconds: f64) -> u64 {
        self.status = std::mem::take(&mut self.status).failed();
        self.loading_seconds = seconds;
        self.failure = Some(error);
        self.error_count += 1;
        self.error_count
    }

    /// The version of an earlier run, loaded at `loaded_us`, answers from its file. It is to be reloaded at once.
    pub(super) fn open_file(&mut self, version: &NewVersion, now_us: u64, seconds: f64, loaded_us: u64) {
        self.put(version, LoadTimes { seconds, loaded_us, next_load_us: Some(now_us) });
        self.loading_start_us = now_us;
        self.is_of_earlier_run = true;
    }

    fn put(&mut self, version: &NewVersion, times: LoadTimes) {
        self.status = DictionaryStatus::Loaded(Arc::clone(&version.dictionary));
        self.origin = version.origin.clone();
        self.loading_seconds = times.seconds;
        self.last_update_us = times.loaded_us;
        self.next_load_us = times.next_load_us;
    }

    /// The source has not changed, so the version need not be loaded again before `next_load_us`.
    pub(super) fn keep(&mut self, next_load_us: Option<u64>) {
        self.next_load_us = next_load_us;
        self.is_of_earlier_run = false;
    }

    pub(super) fn retry_at(&mut self, next_load_us: Option<u64>) {
        self.next_load_us = next_load_us;
    }

    /// `version` takes the place of `old`, which has the same rows.
    pub(super) fn replace(&mut self, old: &Arc<dyn Dictionary>, version: Arc<dyn Dictionary>) {
        if let DictionaryStatus::Loaded(current) | DictionaryStatus::Reloading(current) = &mut self.status
            && Arc::ptr_eq(current, old)
        {
            *current = version;
        }
    }

    /// Drops and returns a version whose file was found damaged.
    pub(super) fn take_damaged(&mut self) -> Option<Arc<dyn Dictionary>> {
        let damaged = Arc::clone(self.version().filter(|version| version.is_damaged())?);
        self.origin = Origin::default();
        self.status = match &self.status {
            DictionaryStatus::Reloading(_) if self.failure.is_some() => DictionaryStatus::FailedAndReloading,
            DictionaryStatus::Reloading(_) => DictionaryStatus::Loading,
            _ if self.failure.is_some() => DictionaryStatus::Failed,
            _ => DictionaryStatus::NotLoaded,
        };
        Some(damaged)
    }
}

/// When a version was loaded, how long that took, and when it is loaded again.
pub(super) struct LoadTimes {
    pub(super) seconds: f64,
    pub(super) loaded_us: u64,
    pub(super) next_load_us: Option<u64>,
}

#[cfg(test)]
mod tests {
    use basalt_base::{Column, ErrorCode, SqlType};
    use basalt_dict::{DictionarySpec, LayoutKind, LayoutSpec, build};

    use super::*;

    fn version() -> NewVersion {
        let spec = DictionarySpec {
            key_columns: std::iter::once(Column::new("key", SqlType::UInt64)).collect(),
            attributes: Vec::new(),
            layout: LayoutSpec::new(LayoutKind::Hashed),
            range: None,
        };
        let dictionary = build(spec, &mut std::iter::empty()).expect("an empty dictionary");
        NewVersion { dictionary, origin: Origin::default() }
    }

    fn times() -> LoadTimes {
        LoadTimes { seconds: 2.0, loaded_us: 7, next_load_us: Some(9) }
    }

    #[test]
    fn loads_succeed_and_fail_in_any_order() {
        let mut state = DictionaryState::default();
        let error = || Error::new(ErrorCode::NetworkError, "the source is away");
        let number = |state: &DictionaryState| (state.status().number(), state.is_loading());
        assert_eq!(number(&state), (0, false));
        assert!(state.begin(1).0.is_none());
        assert_eq!(number(&state), (3, true));
        assert_eq!(state.fail(error(), 2.0), 1);
        assert_eq!(number(&state), (2, false));
        state.retry_at(Some(5));
        assert!(state.recent_failure(4).is_some() && state.recent_failure(5).is_none() && state.is_due(5));
        state.begin(5);
        assert_eq!(number(&state), (4, true));
        assert_eq!(state.fail(error(), 2.0), 2);
        state.begin(5);
        state.succeed(&version(), times());
        assert_eq!((number(&state), state.error_count), ((1, false), 0));
        assert!(state.last_exception().is_empty() && !state.needs_load());
        assert!(state.begin(6).0.is_some());
        assert_eq!(number(&state), (5, true));
        assert_eq!(state.fail(error(), 0.5), 1);
        assert_eq!(number(&state), (1, false));
        assert!(!state.last_exception().is_empty() && state.usable().is_some());
    }

    #[test]
    fn only_the_version_that_answers_is_replaced() {
        let (mut state, old, new) = (DictionaryState::default(), version(), version());
        state.replace(&old.dictionary, Arc::clone(&new.dictionary));
        assert!(state.version().is_none());
        state.succeed(&old, times());
        state.replace(&new.dictionary, Arc::clone(&old.dictionary));
        state.replace(&old.dictionary, Arc::clone(&new.dictionary));
        assert!(state.version().is_some_and(|version| Arc::ptr_eq(version, &new.dictionary)));
    }
}
