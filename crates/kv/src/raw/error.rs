//! Errors of a raw store: kinds of RocksDB as codes, so that callers can tell damage from a wrong argument.

use std::path::Path;

use basalt_base::{Error, ErrorCode};

/// A failed call of RocksDB. `doing` follows the word "while", for example `opening`.
pub(super) fn failed(path: &Path, doing: &str, source: &rocksdb::Error) -> Error {
    let code = match source.kind() {
        rocksdb::ErrorKind::InvalidArgument => ErrorCode::BadArguments,
        rocksdb::ErrorKind::NotSupported => ErrorCode::NotImplemented,
        _ => return crate::error::failed(path, doing, source),
    };
    Error::new(code, format!("{} failed while {doing}: {source}", path.display()))
}
