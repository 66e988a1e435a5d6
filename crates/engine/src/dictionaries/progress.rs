//! The progress of a load.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Written by the load, read by `system.dictionaries`.
#[derive(Debug, Default)]
pub(super) struct LoadProgress {
    rows: AtomicU64,
    step: AtomicU8,
}

/// The step of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoadStep {
    /// No load runs.
    #[default]
    None,
    Reading,
    /// All rows were read: tables and files are built.
    Building,
    /// The new version answers from a file, and is read into memory.
    IntoMemory,
}

impl LoadProgress {
    /// Begins a load, which waits for the first row of its source.
    pub(super) fn begin(&self) {
        self.rows.store(0, Ordering::Relaxed);
        self.enter(LoadStep::Reading);
    }

    pub(super) fn enter(&self, step: LoadStep) {
        self.step.store(step as u8, Ordering::Relaxed);
    }

    pub(super) fn add_rows(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// There is neither a version nor a load.
    pub(super) fn forget(&self) {
        self.rows.store(0, Ordering::Relaxed);
        self.enter(LoadStep::None);
    }

    /// The rows that the load has read; those of the last load if none runs.
    pub(super) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    pub(super) fn step(&self) -> LoadStep {
        let step = self.step.load(Ordering::Relaxed);
        LoadStep::ALL.into_iter().find(|&known| known as u8 == step).unwrap_or_default()
    }
}

impl LoadStep {
    const ALL: [LoadStep; 4] = [LoadStep::None, LoadStep::Reading, LoadStep::Building, LoadStep::IntoMemory];

    /// The value of the column `loading_step`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LoadStep::None => "",
            LoadStep::Reading => "reading",
            LoadStep::Building => "building",
            LoadStep::IntoMemory => "into memory",
        }
    }
}
