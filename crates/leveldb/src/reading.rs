//! The functions of options of reads and writes.

use std::sync::Weak;

use basalt_base::{Result, bail};
use basalt_kv::raw::WriteOptions;

use crate::border::{answered, done};
use crate::database::{PinnedSnapshot, Reading};
use crate::handle::Snapshot;

/// How to read.
pub(crate) struct ReadOptions {
    verify_checksums: bool,
    fill_cache: bool,
    snapshot: Option<Weak<PinnedSnapshot>>,
}

impl ReadOptions {
    /// The options with the snapshot that they refer to.
    pub(crate) fn to_reading(&self) -> Result<Reading> {
        let snapshot = match &self.snapshot {
            None => None,
            Some(snapshot) => match snapshot.upgrade() {
                Some(snapshot) => Some(snapshot),
                None => bail!(BadArguments, "the snapshot of the options is released"),
            },
        };
        Ok(Reading { verify_checksums: self.verify_checksums, fill_cache: self.fill_cache, snapshot })
    }
}

fn set(options: Option<&mut ReadOptions>, change: impl FnOnce(&mut ReadOptions)) {
    done(|| {
        if let Some(options) = options {
            change(options);
        }
    });
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_readoptions_create() -> Option<Box<ReadOptions>> {
    answered(None, || {
        Ok(Some(Box::new(ReadOptions { verify_checksums: true, fill_cache: true, snapshot: None })))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_readoptions_destroy(options: Option<Box<ReadOptions>>) {
    done(|| drop(options));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_readoptions_set_verify_checksums(
    options: Option<&mut ReadOptions>,
    value: u8,
) {
    set(options, |options| options.verify_checksums = value != 0);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_readoptions_set_fill_cache(options: Option<&mut ReadOptions>, value: u8) {
    set(options, |options| options.fill_cache = value != 0);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_readoptions_set_snapshot(
    options: Option<&mut ReadOptions>,
    snapshot: Option<&Snapshot>,
) {
    set(options, |options| options.snapshot = snapshot.map(|snapshot| Weak::clone(snapshot.pinned())));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_writeoptions_create() -> Option<Box<WriteOptions>> {
    answered(None, || Ok(Some(Box::default())))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_writeoptions_destroy(options: Option<Box<WriteOptions>>) {
    done(|| drop(options));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_writeoptions_set_sync(options: Option<&mut WriteOptions>, value: u8) {
    done(|| {
        if let Some(options) = options {
            options.sync = value != 0;
        }
    });
}
