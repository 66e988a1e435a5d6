//! The functions of databases that nobody has open.

use std::ffi::c_char;

use crate::border::{ErrorSlot, given, path, reported};
use crate::database::Database;
use crate::options::Options;

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_destroy_db(
    options: Option<&Options>,
    name: *const c_char,
    error: Option<&mut ErrorSlot>,
) {
    reported(error, (), || {
        // SAFETY: the caller says so.
        let path = unsafe { path(name, "name") }?;
        Database::destroy(path, &given(options, "options")?.to_raw()?)
    });
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_repair_db(
    options: Option<&Options>,
    name: *const c_char,
    error: Option<&mut ErrorSlot>,
) {
    reported(error, (), || {
        // SAFETY: the caller says so.
        let path = unsafe { path(name, "name") }?;
        Database::repair(path, &given(options, "options")?.to_raw()?)
    });
}
