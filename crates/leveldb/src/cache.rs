//! The functions of caches.

use basalt_kv::raw::RawCache;

use crate::border::{answered, done};

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_cache_create_lru(capacity: usize) -> Option<Box<RawCache>> {
    answered(None, || Ok(Some(Box::new(RawCache::lru(capacity)))))
}

/// Databases that use the cache keep it until they are closed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_cache_destroy(cache: Option<Box<RawCache>>) {
    done(|| drop(cache));
}
