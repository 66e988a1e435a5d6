//! The ways in which a disk fails.

/// The fate of writes and renames that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// None of them reached the disk.
    LoseUnsynced,
    /// Every name reached the disk, but only the first half of each file's unsynced bytes.
    TearUnsynced,
}

/// How long a failure lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It fails once.
    Once,
    /// It fails until it is mended.
    Always,
}
