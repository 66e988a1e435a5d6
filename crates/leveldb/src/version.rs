//! The functions without an object: the version of LevelDB whose functions these are, and `free`.

use std::ffi::{c_int, c_void};

use crate::border::free;

const MAJOR: c_int = 1;
const MINOR: c_int = 23;

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_major_version() -> c_int {
    MAJOR
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_minor_version() -> c_int {
    MINOR
}

/// # Safety
///
/// `memory` is NULL, or a function of this library returned it for this one, and it is used no more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_free(memory: *mut c_void) {
    free(memory);
}
