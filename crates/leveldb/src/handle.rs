//! The functions of an open database, and of its snapshots.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_base::Result;
use basalt_kv::raw::{RawBatch, WriteOptions};
use parking_lot::Mutex;

use crate::border::{
    ErrorSlot, answered, bytes, c_text, done, given, malloc_bytes, malloc_text, path, reported, values,
};
use crate::database::{Database, PinnedSnapshot};
use crate::options::Options;
use crate::reading::ReadOptions;

/// An open database. It has its snapshots, so that a snapshot that is not released does not keep it open.
pub(crate) struct Db {
    pub(crate) database: Database,
    snapshots: Mutex<BTreeMap<u64, Arc<PinnedSnapshot>>>,
    next_snapshot: AtomicU64,
}

/// A snapshot of a database.
pub(crate) struct Snapshot {
    number: u64,
    pinned: std::sync::Weak<PinnedSnapshot>,
}

impl Snapshot {
    /// The snapshot itself, as long as it is not released and its database is open.
    pub(crate) fn pinned(&self) -> &std::sync::Weak<PinnedSnapshot> {
        &self.pinned
    }
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_open(
    options: Option<&Options>,
    name: *const c_char,
    error: Option<&mut ErrorSlot>,
) -> Option<Box<Db>> {
    reported(error, None, || {
        // SAFETY: the caller says so.
        let path = unsafe { path(name, "name") }?;
        let database = Database::open(path, &given(options, "options")?.to_raw()?)?;
        Ok(Some(Box::new(Db { database, snapshots: Mutex::default(), next_snapshot: AtomicU64::new(0) })))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_close(db: Option<Box<Db>>) {
    done(|| drop(db));
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_put(
    db: Option<&Db>,
    options: Option<&WriteOptions>,
    key: *const c_char,
    key_length: usize,
    value: *const c_char,
    value_length: usize,
    error: Option<&mut ErrorSlot>,
) {
    reported(error, (), || {
        // SAFETY: the caller says so.
        let (key, value) = unsafe { (bytes(key, key_length, "key")?, bytes(value, value_length, "val")?) };
        given(db, "db")?.database.put(key, value, *given(options, "options")?)
    });
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_delete(
    db: Option<&Db>,
    options: Option<&WriteOptions>,
    key: *const c_char,
    key_length: usize,
    error: Option<&mut ErrorSlot>,
) {
    reported(error, (), || {
        // SAFETY: the caller says so.
        let key = unsafe { bytes(key, key_length, "key") }?;
        given(db, "db")?.database.delete(key, *given(options, "options")?)
    });
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_write(
    db: Option<&Db>,
    options: Option<&WriteOptions>,
    batch: Option<&RawBatch>,
    error: Option<&mut ErrorSlot>,
) {
    reported(error, (), || {
        given(db, "db")?.database.write(given(batch, "batch")?, *given(options, "options")?)
    });
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_get(
    db: Option<&Db>,
    options: Option<&ReadOptions>,
    key: *const c_char,
    key_length: usize,
    value_length: Option<&mut usize>,
    error: Option<&mut ErrorSlot>,
) -> *mut c_char {
    let mut length = 0;
    let value = reported(error, std::ptr::null_mut(), || {
        // SAFETY: the caller says so.
        let key = unsafe { bytes(key, key_length, "key") }?;
        let reading = given(options, "options")?.to_reading()?;
        given(value_length.as_ref(), "vallen")?;
        let value = given(db, "db")?.database.get(key, &reading, |value| {
            length = value.len();
            malloc_bytes(value)
        })?;
        Ok(value.unwrap_or(std::ptr::null_mut()))
    });
    if let Some(value_length) = value_length {
        *value_length = length;
    }
    value
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_create_snapshot(db: Option<&Db>) -> Option<Box<Snapshot>> {
    answered(None, || {
        let db = given(db, "db")?;
        let pinned = Arc::new(db.database.snapshot());
        let number = db.next_snapshot.fetch_add(1, Ordering::Relaxed);
        let snapshot = Snapshot { number, pinned: Arc::downgrade(&pinned) };
        db.snapshots.lock().insert(number, pinned);
        Ok(Some(Box::new(snapshot)))
    })
}

/// The snapshot is released with its handle, even without its database.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_release_snapshot(db: Option<&Db>, snapshot: Option<Box<Snapshot>>) {
    done(|| {
        if let (Some(db), Some(snapshot)) = (db, &snapshot) {
            let released = db.snapshots.lock().remove(&snapshot.number);
            // Without the lock: RocksDB may have work to do.
            drop(released);
        }
        drop(snapshot);
    });
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_property_value(db: Option<&Db>, name: *const c_char) -> *mut c_char {
    answered(std::ptr::null_mut(), || {
        // SAFETY: the caller says so.
        let name = unsafe { c_text(name, "propname") }?;
        let value = match name.to_str() {
            Ok(name) => given(db, "db")?.database.property(name)?,
            Err(_) => None,
        };
        Ok(value.map_or(std::ptr::null_mut(), |value| malloc_text(&value)))
    })
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_approximate_sizes(
    db: Option<&Db>,
    count: c_int,
    starts: *const *const c_char,
    start_lengths: *const usize,
    limits: *const *const c_char,
    limit_lengths: *const usize,
    sizes: *mut u64,
) {
    let count = usize::try_from(count).unwrap_or(0);
    if sizes.is_null() || count == 0 {
        return;
    }
    for at in 0..count {
        let size = answered(0, || {
            // SAFETY: the caller says so.
            let start = unsafe { key_at(starts, start_lengths, count, at) }?;
            // SAFETY: as above.
            let limit = unsafe { key_at(limits, limit_lengths, count, at) }?;
            given(db, "db")?.database.approximate_bytes(start, limit)
        });
        // SAFETY: the caller has room for `count` sizes there.
        unsafe { sizes.add(at).write(size) };
    }
}

/// The key at `at` of `count` keys.
///
/// # Safety
///
/// See the crate.
unsafe fn key_at<'a>(
    keys: *const *const c_char,
    lengths: *const usize,
    count: usize,
    at: usize,
) -> Result<&'a [u8]> {
    // SAFETY: the caller says so.
    let (keys, lengths) =
        unsafe { (values(keys, count, "range_start_key")?, values(lengths, count, "lengths")?) };
    // SAFETY: as above.
    unsafe { bytes(keys[at], lengths[at], "range_start_key") }
}

/// # Safety
///
/// See the crate.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_compact_range(
    db: Option<&Db>,
    start: *const c_char,
    start_length: usize,
    limit: *const c_char,
    limit_length: usize,
) {
    answered((), || {
        // SAFETY: the caller says so.
        let start = unsafe { bound(start, start_length) }?;
        // SAFETY: as above.
        let limit = unsafe { bound(limit, limit_length) }?;
        given(db, "db")?.database.compact(start, limit)
    });
}

/// A bound of a range; NULL is none, whatever its length.
///
/// # Safety
///
/// See the crate.
unsafe fn bound<'a>(start: *const c_char, length: usize) -> Result<Option<&'a [u8]>> {
    if start.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller says so.
    unsafe { bytes(start, length, "key") }.map(Some)
}
