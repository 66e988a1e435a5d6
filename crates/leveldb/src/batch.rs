//! The functions of write batches.

use std::ffi::{c_char, c_void};

use basalt_kv::raw::{BatchEntry, RawBatch};

use crate::border::{answered, bytes, done, given};

/// Called for a put of a batch: state, key, value.
type PutCall = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize);
/// Called for a delete of a batch: state, key.
type DeletedCall = unsafe extern "C" fn(*mut c_void, *const c_char, usize);

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_writebatch_create() -> Option<Box<RawBatch>> {
    answered(None, || Ok(Some(Box::default())))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_writebatch_destroy(batch: Option<Box<RawBatch>>) {
    done(|| drop(batch));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_writebatch_clear(batch: Option<&mut RawBatch>) {
    done(|| {
        if let Some(batch) = batch {
            batch.clear();
        }
    });
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_writebatch_put(
    batch: Option<&mut RawBatch>,
    key: *const c_char,
    key_length: usize,
    value: *const c_char,
    value_length: usize,
) {
    answered((), || {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (bytes(key, key_length, "key")?, bytes(value, value_length, "val")?) };
        given(batch, "b")?.put(key, value);
        Ok(())
    });
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_writebatch_delete(
    batch: Option<&mut RawBatch>,
    key: *const c_char,
    key_length: usize,
) {
    answered((), || {
        // SAFETY: the caller says so.
        let key = unsafe { bytes(key, key_length, "key") }?;
        given(batch, "b")?.delete(key);
        Ok(())
    });
}

/// # Safety
///
/// See the crate; the functions take the state.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_writebatch_iterate(
    batch: Option<&RawBatch>,
    state: *mut c_void,
    put: Option<PutCall>,
    deleted: Option<DeletedCall>,
) {
    answered((), || {
        given(batch, "b")?.for_each(|entry| match (entry, put, deleted) {
            (BatchEntry::Put { key, value }, Some(put), _) => {
                // SAFETY: the caller gives a function for this; the bytes are there during the call.
                unsafe { put(state, key.as_ptr().cast(), key.len(), value.as_ptr().cast(), value.len()) }
            }
            (BatchEntry::Delete { key }, _, Some(deleted)) => {
                // SAFETY: as above.
                unsafe { deleted(state, key.as_ptr().cast(), key.len()) }
            }
            _ => {}
        });
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_writebatch_append(
    destination: Option<&mut RawBatch>,
    source: *const RawBatch,
) {
    answered((), || {
        let destination = given(destination, "destination")?;
        if std::ptr::eq(destination, source) {
            let mut copy = RawBatch::default();
            copy.append(destination);
            destination.append(&copy);
            return Ok(());
        }
        // SAFETY: it is NULL or a batch, and not the one that is changed.
        destination.append(given(unsafe { source.as_ref() }, "source")?);
        Ok(())
    });
}
