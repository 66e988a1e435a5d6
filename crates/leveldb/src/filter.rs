//! The functions of filter policies: RocksDB's Bloom filter, or functions of C.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

use basalt_base::Result;
use basalt_kv::raw::FilterPolicy;

use crate::border::{answered, bytes, c_text, done, free, given};
use crate::comparator::{Destructor, NameCall, State};

/// Makes a filter of keys: state, keys, their lengths, their number, where the length of the filter goes.
type CreateCall =
    unsafe extern "C" fn(*mut c_void, *const *const c_char, *const usize, c_int, *mut usize) -> *mut c_char;
/// Whether a filter may have a key: state, key, filter.
type MatchCall = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> u8;

/// Filters that functions of C make and ask.
pub(crate) struct UserPolicy {
    state: State,
    create: CreateCall,
    may_match: MatchCall,
    name: CString,
}

impl FilterPolicy for UserPolicy {
    fn name(&self) -> &CStr {
        &self.name
    }

    fn create(&self, keys: &[&[u8]]) -> Option<Vec<u8>> {
        let starts: Vec<*const c_char> = keys.iter().map(|key| key.as_ptr().cast()).collect();
        let lengths: Vec<usize> = keys.iter().map(|key| key.len()).collect();
        let count = c_int::try_from(keys.len()).ok()?;
        let mut length = 0;
        // SAFETY: the caller gave the function for this state; the arrays are there during the call.
        let made = unsafe {
            (self.create)(self.state.pointer, starts.as_ptr(), lengths.as_ptr(), count, &mut length)
        };
        if made.is_null() {
            return None;
        }
        // SAFETY: the function returns memory of `malloc` with so many bytes.
        let filter: Result<Vec<u8>> = unsafe { bytes(made, length, "filter") }.map(<[u8]>::to_vec);
        free(made.cast());
        filter.ok()
    }

    fn may_match(&self, key: &[u8], filter: &[u8]) -> bool {
        let (key_length, filter_length) = (key.len(), filter.len());
        let (key, filter) = (key.as_ptr().cast(), filter.as_ptr().cast());
        // SAFETY: the caller gave the function for this state; the bytes are there during the call.
        unsafe { (self.may_match)(self.state.pointer, key, key_length, filter, filter_length) != 0 }
    }
}

/// A filter policy. A database that is open with it keeps it.
pub(crate) enum PolicyHandle {
    Bloom { bits_per_key: f64 },
    User(Arc<dyn FilterPolicy>),
}

/// # Safety
///
/// See the crate; the functions take the state, from several threads at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_filterpolicy_create(
    state: *mut c_void,
    destructor: Option<Destructor>,
    create_filter: Option<CreateCall>,
    key_may_match: Option<MatchCall>,
    name: Option<NameCall>,
) -> Option<Box<PolicyHandle>> {
    answered(None, || {
        let create = given(create_filter, "create_filter")?;
        let may_match = given(key_may_match, "key_may_match")?;
        let name = given(name, "name")?;
        // SAFETY: the caller says so; the function returns a text.
        let name = unsafe { c_text(name(state), "name") }?.to_owned();
        let state = State::new(state, destructor);
        Ok(Some(Box::new(PolicyHandle::User(Arc::new(UserPolicy { state, create, may_match, name })))))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_filterpolicy_create_bloom(bits_per_key: c_int) -> Option<Box<PolicyHandle>> {
    answered(None, || Ok(Some(Box::new(PolicyHandle::Bloom { bits_per_key: f64::from(bits_per_key) }))))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_filterpolicy_destroy(policy: Option<Box<PolicyHandle>>) {
    done(|| drop(policy));
}
