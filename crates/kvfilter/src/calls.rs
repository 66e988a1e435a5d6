//! The calls between Rust and the class of C++ in policy.cc.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use librocksdb_sys::rocksdb_options_t;
use rocksdb::{AsRawPtr, Options};

use crate::FilterPolicy;

/// A policy behind a pointer of C.
type State = Arc<dyn FilterPolicy>;
/// Adds bytes to a filter that C++ has.
type Append = unsafe extern "C" fn(filter: *mut c_void, bytes: *const c_char, length: usize);

/// RocksDB's `Slice`; policy.cc asserts that it has this layout.
#[repr(C)]
struct KeyView {
    start: *const u8,
    length: usize,
}

unsafe extern "C" {
    fn basalt_set_filter_policy(
        options: *mut rocksdb_options_t,
        name: *const c_char,
        state: *mut c_void,
        destroy: unsafe extern "C" fn(*mut c_void),
        create: unsafe extern "C" fn(*mut c_void, *const KeyView, usize, *mut c_void, Append) -> u8,
        may_match: unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> u8,
    ) -> u8;
}

pub(crate) fn set(options: &mut Options, policy: State) -> bool {
    let name = policy.name().to_owned();
    let state: *mut State = Box::into_raw(Box::new(policy));
    // SAFETY: the pointer of the options is valid while they are borrowed, and the call keeps none of it. C++ copies the
    // name, and calls `destroy` once, when nothing uses the state any more.
    let is_set = unsafe {
        basalt_set_filter_policy(
            options.as_raw_ptr(),
            name.as_ptr(),
            state.cast(),
            destroy,
            create,
            may_match,
        )
    };
    is_set != 0
}

unsafe extern "C" fn destroy(state: *mut c_void) {
    // SAFETY: `set` made the pointer of a box, and C++ calls this once and uses the pointer no more.
    let policy = unsafe { Box::from_raw(state.cast::<State>()) };
    // A panic must not go on into C++.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(policy)));
}

unsafe extern "C" fn create(
    state: *mut c_void,
    keys: *const KeyView,
    count: usize,
    filter: *mut c_void,
    append: Append,
) -> u8 {
    // SAFETY: `set` made the pointer of a box, which lives until `destroy`.
    let policy = unsafe { &*state.cast::<State>() };
    // SAFETY: C++ gives the keys of a vector, which lives as long as the call.
    let views = unsafe { views(keys, count) };
    // SAFETY: each key is of a string that lives as long as the call.
    let keys: Vec<&[u8]> = views.iter().map(|key| unsafe { bytes(key.start, key.length) }).collect();
    let made = catch_unwind(AssertUnwindSafe(|| policy.create(&keys)));
    let Ok(Some(made)) = made else { return 0 };
    // SAFETY: C++ copies the bytes to the filter that it gave.
    unsafe { append(filter, made.as_ptr().cast(), made.len()) };
    1
}

unsafe extern "C" fn may_match(
    state: *mut c_void,
    key: *const c_char,
    key_length: usize,
    filter: *const c_char,
    filter_length: usize,
) -> u8 {
    // SAFETY: `set` made the pointer of a box, which lives until `destroy`.
    let policy = unsafe { &*state.cast::<State>() };
    // SAFETY: both are of C++, which keeps them during the call.
    let (key, filter) = unsafe { (bytes(key.cast(), key_length), bytes(filter.cast(), filter_length)) };
    catch_unwind(AssertUnwindSafe(|| policy.may_match(key, filter))).unwrap_or(true).into()
}

/// # Safety
///
/// `count` views are at `start`, or none and any address; they are not changed during `'a`.
unsafe fn views<'a>(start: *const KeyView, count: usize) -> &'a [KeyView] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(start, count) }
}

/// # Safety
///
/// `length` bytes are at `start`, or none and any address; they are not changed during `'a`.
unsafe fn bytes<'a>(start: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(start, length) }
}
