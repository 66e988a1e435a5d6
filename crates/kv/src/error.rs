//! Errors of a store: the path and the operation that failed.

use std::path::Path;

use basalt_base::{Error, ErrorCode};

/// A failed call of RocksDB. `doing` follows the word "while", for example `inserting 10 rows`.
pub(crate) fn failed(path: &Path, doing: &str, source: &rocksdb::Error) -> Error {
    let text = source.to_string();
    let code = match source.kind() {
        rocksdb::ErrorKind::Corruption => ErrorCode::CorruptedData,
        rocksdb::ErrorKind::IOError if text.contains("No space left") => ErrorCode::NotEnoughSpace,
        rocksdb::ErrorKind::IOError if text.contains("lock") => ErrorCode::CannotOpenFile,
        _ => ErrorCode::RocksdbError,
    };
    Error::new(code, format!("{} failed while {doing}: {text}", path.display()))
}

/// A file with less than what was acknowledged, or with foreign bytes. Nothing was changed.
pub(crate) fn damaged(file: &Path, how: &str) -> Error {
    Error::new(ErrorCode::CorruptedData, format!("{} is damaged: {how}", file.display()))
}

/// Bytes of a key or a row that no version of this code wrote. The store adds its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    #[error("it ends inside a value")]
    Truncated,
    #[error("{left} bytes are left after its last value")]
    Trailing { left: usize },
    #[error("its format version is {found}, this build reads {newest} and older")]
    Version { found: u8, newest: u8 },
    #[error("it has {found} columns, the table {expected}")]
    Columns { found: u64, expected: usize },
    #[error("it has the byte {found:#04x} where only 0 or 1 can be")]
    Flag { found: u8 },
    #[error("a length in it does not fit into 64 bits")]
    Length,
    #[error("a string in it breaks the escape rule")]
    Escape,
}

impl Corrupt {
    /// The error for the row at `key` of the store at `path`.
    pub fn at(self, path: &Path, key: &[u8]) -> Error {
        let shown = &key[..key.len().min(64)];
        let hex = hex::encode(shown);
        Error::new(
            ErrorCode::CorruptedData,
            format!("{}: the row with the encoded key {hex} is corrupt: {self}", path.display()),
        )
    }
}
