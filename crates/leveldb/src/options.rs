//! The functions of the options of a database.

use std::ffi::c_int;
use std::sync::{Arc, Weak};

use basalt_base::{Result, bail};
use basalt_kv::raw::{Compression, Filter, FilterPolicy, RawCache, RawOptions};

use crate::border::{answered, done};
use crate::comparator::{ComparatorHandle, UserComparator};
use crate::env::Env;
use crate::filter::PolicyHandle;

const NO_COMPRESSION: c_int = 0;
/// LevelDB's compression. LZ4 takes its place: it is faster and about as small.
const SNAPPY_COMPRESSION: c_int = 1;
const ZSTD_COMPRESSION: c_int = 2;

/// How to open a database.
pub(crate) struct Options {
    /// Without what the fields below have.
    raw: RawOptions,
    comparator: Option<Weak<UserComparator>>,
    filter: Option<FilterChoice>,
}

#[derive(Clone)]
enum FilterChoice {
    Bloom { bits_per_key: f64 },
    User(Weak<dyn FilterPolicy>),
}

/// A logger. The library makes none, so a pointer to one is never looked at.
pub(crate) struct Logger {
    _unused: u8,
}

impl Options {
    /// The options with what they refer to.
    pub(crate) fn to_raw(&self) -> Result<RawOptions> {
        let mut raw = self.raw.clone();
        if let Some(comparator) = &self.comparator {
            match comparator.upgrade() {
                Some(comparator) => raw.comparator = Some(comparator),
                None => bail!(BadArguments, "the comparator of the options is destroyed"),
            }
        }
        raw.filter = match &self.filter {
            None => None,
            Some(FilterChoice::Bloom { bits_per_key }) => Some(Filter::Bloom { bits_per_key: *bits_per_key }),
            Some(FilterChoice::User(policy)) => match policy.upgrade() {
                Some(policy) => Some(Filter::Policy(policy)),
                None => bail!(BadArguments, "the filter policy of the options is destroyed"),
            },
        };
        Ok(raw)
    }
}

fn set(options: Option<&mut Options>, change: impl FnOnce(&mut Options)) {
    done(|| {
        if let Some(options) = options {
            change(options);
        }
    });
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_create() -> Option<Box<Options>> {
    answered(None, || {
        Ok(Some(Box::new(Options { raw: RawOptions::default(), comparator: None, filter: None })))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_destroy(options: Option<Box<Options>>) {
    done(|| drop(options));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_comparator(
    options: Option<&mut Options>,
    comparator: Option<&ComparatorHandle>,
) {
    set(options, |options| options.comparator = comparator.map(|handle| Arc::downgrade(&handle.0)));
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_filter_policy(
    options: Option<&mut Options>,
    policy: Option<&PolicyHandle>,
) {
    set(options, |options| {
        options.filter = policy.map(|policy| match policy {
            PolicyHandle::Bloom { bits_per_key } => FilterChoice::Bloom { bits_per_key: *bits_per_key },
            PolicyHandle::User(policy) => FilterChoice::User(Arc::downgrade(policy)),
        });
    });
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_create_if_missing(options: Option<&mut Options>, value: u8) {
    set(options, |options| options.raw.create_if_missing = value != 0);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_error_if_exists(options: Option<&mut Options>, value: u8) {
    set(options, |options| options.raw.error_if_exists = value != 0);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_paranoid_checks(options: Option<&mut Options>, value: u8) {
    set(options, |options| options.raw.paranoid_checks = value != 0);
}

/// There is one environment, so that nothing changes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_env(_options: Option<&mut Options>, _env: Option<&Env>) {}

/// The library makes no loggers: RocksDB writes its log to the database's directory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_info_log(_options: Option<&mut Options>, _logger: *mut Logger) {}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_write_buffer_size(options: Option<&mut Options>, bytes: usize) {
    set(options, |options| options.raw.write_buffer_bytes = bytes);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_max_open_files(options: Option<&mut Options>, files: c_int) {
    set(options, |options| options.raw.open_files_max = files);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_cache(options: Option<&mut Options>, cache: Option<&RawCache>) {
    set(options, |options| options.raw.cache = cache.cloned());
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_block_size(options: Option<&mut Options>, bytes: usize) {
    set(options, |options| options.raw.block_bytes = bytes);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_block_restart_interval(
    options: Option<&mut Options>,
    keys: c_int,
) {
    set(options, |options| options.raw.restart_keys = keys);
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_max_file_size(options: Option<&mut Options>, bytes: usize) {
    set(options, |options| options.raw.file_bytes_max = Some(bytes as u64));
}

/// An unknown number leaves the options as they are.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_options_set_compression(options: Option<&mut Options>, compression: c_int) {
    set(options, |options| match compression {
        NO_COMPRESSION => options.raw.compression = Compression::None,
        SNAPPY_COMPRESSION => options.raw.compression = Compression::Lz4,
        ZSTD_COMPRESSION => options.raw.compression = Compression::Zstd,
        _ => {}
    });
}
