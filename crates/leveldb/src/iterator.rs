//! The functions of iterators.

use std::ffi::c_char;

use crate::border::{ErrorSlot, answered, bytes, done, given, reported};
use crate::database::Rows;
use crate::handle::Db;
use crate::reading::ReadOptions;

/// A position among the keys of a database.
pub(crate) struct Iterator {
    /// The error if the iterator could not be made.
    rows: basalt_base::Result<Rows>,
}

/// NULL without a database. With unusable options it is an iterator without keys, which has the error.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_create_iterator(
    db: Option<&Db>,
    options: Option<&ReadOptions>,
) -> Option<Box<Iterator>> {
    answered(None, || {
        let db = given(db, "db")?;
        let reading = given(options, "options").and_then(ReadOptions::to_reading);
        let rows = reading.and_then(|reading| db.database.iterator(&reading));
        Ok(Some(Box::new(Iterator { rows })))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_destroy(iterator: Option<Box<Iterator>>) {
    done(|| drop(iterator));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_valid(iterator: Option<&Iterator>) -> u8 {
    answered(0, || Ok(rows(iterator).is_some_and(Rows::is_valid).into()))
}

fn rows(iterator: Option<&Iterator>) -> Option<&Rows> {
    iterator.and_then(|iterator| iterator.rows.as_ref().ok())
}

fn step(iterator: Option<&mut Iterator>, step: impl FnOnce(&mut Rows)) {
    done(|| {
        if let Some(Iterator { rows: Ok(rows) }) = iterator {
            step(rows);
        }
    });
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_seek_to_first(iterator: Option<&mut Iterator>) {
    step(iterator, Rows::seek_to_first);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_seek_to_last(iterator: Option<&mut Iterator>) {
    step(iterator, Rows::seek_to_last);
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_iter_seek(
    iterator: Option<&mut Iterator>,
    key: *const c_char,
    key_length: usize,
) {
    // SAFETY: the caller says so.
    if let Ok(key) = unsafe { bytes(key, key_length, "k") } {
        step(iterator, |rows| rows.seek(key));
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_next(iterator: Option<&mut Iterator>) {
    step(iterator, Rows::next);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_prev(iterator: Option<&mut Iterator>) {
    step(iterator, Rows::prev);
}

/// Bytes that the iterator keeps until it moves; NULL and no length if there are none.
fn shown<'a>(found: Option<&'a [u8]>, length: Option<&mut usize>) -> *const c_char {
    let Some(length) = length else { return std::ptr::null() };
    *length = found.map_or(0, <[u8]>::len);
    found.map_or(std::ptr::null(), |found: &'a [u8]| found.as_ptr().cast())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_key(
    iterator: Option<&Iterator>,
    length: Option<&mut usize>,
) -> *const c_char {
    let key = answered(None, || Ok(rows(iterator).and_then(Rows::key)));
    shown(key, length)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_value(
    iterator: Option<&Iterator>,
    length: Option<&mut usize>,
) -> *const c_char {
    let value = answered(None, || Ok(rows(iterator).and_then(Rows::value)));
    shown(value, length)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_iter_get_error(iterator: Option<&Iterator>, error: Option<&mut ErrorSlot>) {
    reported(error, (), || match &given(iterator, "iter")?.rows {
        Ok(rows) => rows.status(),
        Err(error) => Err(error.clone()),
    });
}
