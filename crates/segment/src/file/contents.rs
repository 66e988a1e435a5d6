//! The bytes of an open file, mapped or read, with their checksums.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::{RandomAccess, Storage};
use basalt_base::region::{BlockChecks, BlockSource, Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::access::Access;

/// A file, in one of the ways of access. Cloning shares it.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    Mapped(Arc<Region>),
    Read(Arc<CheckedFile>),
}

/// A file that is read by system calls. It is not mapped: a storage without mappings would read all of it.
pub(super) struct CheckedFile {
    file: Arc<dyn RandomAccess>,
    checks: BlockChecks,
}

impl Contents {
    /// `file` is the open file at `path`.
    pub(super) fn open(
        storage: &dyn Storage,
        path: &Path,
        file: Arc<dyn RandomAccess>,
        checks: BlockChecks,
        access: Access,
    ) -> Result<Contents> {
        Ok(match access {
            Access::Mapped => Contents::Mapped(Arc::new(storage.map(path)?.with_checks(checks))),
            Access::Read => Contents::Read(Arc::new(CheckedFile { file, checks })),
        })
    }

    /// Compares all checksums.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Contents::Mapped(region) => region.check_all(),
            Contents::Read(file) => file.checks.check_all(&BlockSource::Reader(&file.reader())),
        }
    }

    /// Compares the checksums of `range`, which exists.
    pub(super) fn check_range(&self, range: Range<usize>) -> Result<()> {
        match self {
            Contents::Mapped(region) => match Section::new(region, range.clone()) {
                Some(section) => section.check(0..range.len()),
                None => Ok(()),
            },
            Contents::Read(file) => file.check(range),
        }
    }

    /// An error if pages of a mapping could not be read. A file that is read has reported it.
    pub(super) fn check_present(&self) -> Result<()> {
        match self {
            Contents::Mapped(region) => region.check_present(),
            Contents::Read(_) => Ok(()),
        }
    }
}

impl CheckedFile {
    fn reader(&self) -> impl Fn(u64, &mut [u8]) -> io::Result<()> {
        |offset, bytes| self.file.read_at(offset, bytes)
    }

    /// Compares the checksums of `range` that were not compared yet.
    pub(super) fn check(&self, range: Range<usize>) -> Result<()> {
        self.checks.check(&BlockSource::Reader(&self.reader()), range)
    }

    /// Fills `bytes`, whose checksums were compared, from `offset` on.
    pub(super) fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.file.read_at(offset as u64, bytes).map_err(|error| {
            Error::new(ErrorCode::CannotReadFromFile, format!("a segment in use cannot be read: {error}"))
        })
    }
}

impl fmt::Debug for CheckedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedFile").field("file", &self.file).finish_non_exhaustive()
    }
}
