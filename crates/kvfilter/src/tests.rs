//! A policy is asked, for every file and no other key, and its answers are taken.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rocksdb::{BlockBasedOptions, Cache, DB, Options, PlainTableFactoryOptions};

use super::{FilterPolicy, set_filter_policy};

/// Lists the keys themselves.
#[derive(Default)]
struct Listed {
    filters: AtomicUsize,
    asked: AtomicUsize,
    hides_all: AtomicBool,
    makes_none: AtomicBool,
    panics: AtomicBool,
}

impl FilterPolicy for Listed {
    fn name(&self) -> &CStr {
        c"listed"
    }

    fn create(&self, keys: &[&[u8]]) -> Option<Vec<u8>> {
        assert!(!self.panics.load(Ordering::Relaxed), "as the test wants it");
        assert!(keys.is_sorted_by(|left, right| left < right), "in order, without duplicates");
        self.filters.fetch_add(1, Ordering::Relaxed);
        (!self.makes_none.load(Ordering::Relaxed)).then(|| keys.join(&b','))
    }

    fn may_match(&self, key: &[u8], filter: &[u8]) -> bool {
        assert!(!self.panics.load(Ordering::Relaxed), "as the test wants it");
        self.asked.fetch_add(1, Ordering::Relaxed);
        !self.hides_all.load(Ordering::Relaxed)
            && filter.split(|&byte| byte == b',').any(|listed| listed == key)
    }
}

fn options(policy: &Arc<Listed>, cache: &Cache) -> Options {
    let mut format = BlockBasedOptions::default();
    format.set_block_cache(cache);
    format.set_cache_index_and_filter_blocks(true);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&format);
    let policy: Arc<dyn FilterPolicy> = Arc::<Listed>::clone(policy);
    assert!(set_filter_policy(&mut options, policy));
    options
}

fn fill(db: &DB) {
    for key in ["bar", "foo", "foo"] {
        db.put(key, format!("value of {key}")).expect("a write");
    }
    db.flush().expect("a flush");
}

#[test]
fn policy_is_asked_and_believed() {
    let (dir, policy) = (tempfile::tempdir().expect("a directory"), Arc::new(Listed::default()));
    let cache = Cache::new_lru_cache(1 << 20);
    {
        let db = DB::open(&options(&policy, &cache), dir.path()).expect("a database");
        fill(&db);
        assert_eq!(policy.filters.load(Ordering::Relaxed), 1);
        assert_eq!(db.get("foo").expect("a read").as_deref(), Some(&b"value of foo"[..]));
        assert_eq!(db.get("fox").expect("a read"), None);
        assert_eq!(policy.asked.load(Ordering::Relaxed), 2);
        policy.hides_all.store(true, Ordering::Relaxed);
        assert_eq!(db.get("foo").expect("a read"), None, "a filter hides the file");
        policy.hides_all.store(false, Ordering::Relaxed);
    }
    let db = DB::open(&options(&policy, &cache), dir.path()).expect("the database again");
    assert_eq!(db.get("bar").expect("a read").as_deref(), Some(&b"value of bar"[..]));
    drop(db);
    drop(cache);
    assert_eq!(Arc::strong_count(&policy), 1, "nothing keeps the policy");
}

#[test]
fn no_filter_and_panics_hide_nothing() {
    let cache = Cache::new_lru_cache(1 << 20);
    for panics in [false, true] {
        let (dir, policy) = (tempfile::tempdir().expect("a directory"), Arc::new(Listed::default()));
        policy.makes_none.store(true, Ordering::Relaxed);
        policy.panics.store(panics, Ordering::Relaxed);
        let db = DB::open(&options(&policy, &cache), dir.path()).expect("a database");
        fill(&db);
        assert_eq!(db.get("foo").expect("a read").as_deref(), Some(&b"value of foo"[..]));
        assert_eq!(policy.asked.load(Ordering::Relaxed), 0);
    }
    let (dir, policy) = (tempfile::tempdir().expect("a directory"), Arc::new(Listed::default()));
    let db = DB::open(&options(&policy, &cache), dir.path()).expect("a database");
    fill(&db);
    policy.panics.store(true, Ordering::Relaxed);
    assert_eq!(db.get("foo").expect("a read").as_deref(), Some(&b"value of foo"[..]));
}

#[test]
fn other_tables_have_no_policy() {
    let mut options = Options::default();
    options.set_plain_table_factory(&PlainTableFactoryOptions {
        user_key_length: 0,
        bloom_bits_per_key: 10,
        hash_table_ratio: 0.75,
        index_sparseness: 16,
        huge_page_tlb_size: 0,
        encoding_type: rocksdb::KeyEncodingType::Plain,
        full_scan_mode: false,
        store_index_in_file: false,
    });
    let policy = Arc::new(Listed::default());
    let given: Arc<dyn FilterPolicy> = Arc::<Listed>::clone(&policy);
    assert!(!set_filter_policy(&mut options, given));
    assert_eq!(Arc::strong_count(&policy), 1);
}
