//! Errors of writing, reading and using parts.

use std::path::{Path, PathBuf};

use basalt_base::ErrorCode;

use crate::limits::BrokenLimits;
use crate::name::PartName;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed operation on the parts of a table.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A failed system call; the message names the path.
    #[error("{}", .0.message())]
    Storage(basalt_base::Error),
    /// A file has bytes that nobody wrote.
    #[error("{} is corrupt at byte {at}: {what}", path.display())]
    Corrupt { path: PathBuf, at: u64, what: String },
    #[error("{} has format version {version}, this build reads up to {known}; use a newer build", path.display())]
    NewerFormat { path: PathBuf, version: u32, known: u32 },
    #[error("column `{column}` of part `{part}` has type {found}, the table says {expected}")]
    ColumnType { part: String, column: String, found: String, expected: String },
    #[error("the block to insert does not fit the table: {what}")]
    BlockMismatch { what: String },
    #[error(
        "too many partitions for a single INSERT block (more than {most}); the limit is the setting \
         max_partitions_per_insert_block. A large number of partitions makes opening, inserting and \
         selecting slow: most tables want one a month, or none; rows are kept in order by ORDER BY, not \
         by PARTITION BY"
    )]
    TooManyPartitions { most: usize },
    #[error(
        "{} has room for {free} bytes, a merge or mutation needs {needed}; make room, or use smaller parts",
        path.display()
    )]
    NoSpace { path: PathBuf, needed: u64, free: u64 },
    #[error(
        "{count} parts with {bytes} bytes in {} are damaged, more than the {} parts and {} bytes that are set \
         aside (max_suspicious_broken_parts, max_suspicious_broken_parts_bytes): the first is {first}; nothing was \
         changed. Bring them back from a backup, or move their directories to `detached` in the same place, and \
         restart or ATTACH the table: it has the rows of the other parts then",
        path.display(), limits.parts_max, limits.bytes_max
    )]
    TooManyBroken { path: PathBuf, count: u64, bytes: u64, limits: BrokenLimits, first: String },
    #[error("part `{name}` is not in the table")]
    NoSuchPart { name: String },
    #[error("the table's columns changed meanwhile; try again")]
    SpecChanged,
    #[error("the table is closed for writing since an earlier failure: {first}; reopen the database")]
    Poisoned { first: String },
    #[error("the merge was cancelled")]
    Cancelled,
    /// Values that the table's engine does not accept.
    #[error("incorrect data: {what}")]
    IncorrectData { what: String },
    #[error("{what}")]
    Arrow { what: String },
}

impl From<basalt_base::Error> for Error {
    fn from(error: basalt_base::Error) -> Error {
        Error::Storage(error)
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Error {
        Error::Arrow { what: error.to_string() }
    }
}

impl From<Error> for basalt_base::Error {
    fn from(error: Error) -> basalt_base::Error {
        let code = match &error {
            Error::Storage(inner) => return inner.clone(),
            Error::Corrupt { .. } => ErrorCode::CorruptedData,
            Error::NewerFormat { .. } => ErrorCode::NotImplemented,
            Error::ColumnType { .. } => ErrorCode::TypeMismatch,
            Error::BlockMismatch { .. } => ErrorCode::TypeMismatch,
            Error::IncorrectData { .. } => ErrorCode::IncorrectData,
            Error::NoSpace { .. } => ErrorCode::NotEnoughSpace,
            // As in ClickHouse, a missing part in `detached` is an error of its name.
            Error::NoSuchPart { name } if name.contains('/') || name.parse::<PartName>().is_err() => {
                ErrorCode::BadDataPartName
            }
            Error::NoSuchPart { .. } => ErrorCode::NoSuchDataPart,
            Error::TooManyBroken { .. } => ErrorCode::TooManyUnexpectedDataParts,
            Error::TooManyPartitions { .. } => ErrorCode::TooManyParts,
            Error::SpecChanged | Error::Cancelled => ErrorCode::QueryWasCancelled,
            Error::Poisoned { .. } => ErrorCode::ReadOnly,
            Error::Arrow { .. } => ErrorCode::LogicalError,
        };
        basalt_base::Error::new(code, error.to_string())
    }
}

/// Damage of a file, and its offset. The caller adds the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) at: u64,
    pub(crate) what: String,
}

impl Damage {
    pub(crate) fn new(at: usize, what: impl Into<String>) -> Damage {
        Damage { at: at as u64, what: what.into() }
    }

    /// `number`, stored in eight bytes at `at`, as a size in memory.
    pub(crate) fn size(at: usize, number: u64) -> Result<usize, Damage> {
        usize::try_from(number).map_err(|_| Damage::new(at, format!("{number} does not fit an address")))
    }

    /// The same damage, for bytes that begin at `offset` of a file.
    pub(crate) fn shifted(mut self, offset: u64) -> Damage {
        self.at += offset;
        self
    }

    pub(crate) fn in_file(self, place: &(impl ByteSource + ?Sized)) -> Error {
        let at = self.at.saturating_add(place.offset());
        Error::Corrupt { path: place.file().to_owned(), at, what: self.what }
    }
}

/// The source of bytes, for errors.
pub(crate) trait ByteSource {
    fn file(&self) -> &Path;

    /// The offset of the bytes in the file.
    fn offset(&self) -> u64;
}

impl ByteSource for Path {
    fn file(&self) -> &Path {
        self
    }

    fn offset(&self) -> u64 {
        0
    }
}

impl ByteSource for PathBuf {
    fn file(&self) -> &Path {
        self
    }

    fn offset(&self) -> u64 {
        0
    }
}
