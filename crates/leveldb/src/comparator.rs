//! The functions of comparators: an order of keys that functions of C define.

use std::cmp::Ordering;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

use basalt_kv::raw::Comparator;

use crate::border::{answered, c_text, done, given};

/// Destroys a state.
pub(crate) type Destructor = unsafe extern "C" fn(*mut c_void);
/// Names what a state is.
pub(crate) type NameCall = unsafe extern "C" fn(*mut c_void) -> *const c_char;
/// Compares two keys: less than, equal to or greater than 0.
type CompareCall = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int;

/// A state of C and the function that destroys it.
pub(crate) struct State {
    pub(crate) pointer: *mut c_void,
    destructor: Option<Destructor>,
}

// SAFETY: the header says that the functions are called by several threads at once, and by other ones than made it.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl State {
    pub(crate) fn new(pointer: *mut c_void, destructor: Option<Destructor>) -> State {
        State { pointer, destructor }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(destructor) = self.destructor {
            // SAFETY: the caller gave the function for this state, and nothing uses it any more.
            unsafe { destructor(self.pointer) };
        }
    }
}

/// The order that functions of C define.
pub(crate) struct UserComparator {
    state: State,
    compare: CompareCall,
    name: CString,
}

impl Comparator for UserComparator {
    fn name(&self) -> &CStr {
        &self.name
    }

    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        // SAFETY: the caller gave the function for this state; the bytes are there during the call.
        let order = unsafe {
            (self.compare)(
                self.state.pointer,
                left.as_ptr().cast(),
                left.len(),
                right.as_ptr().cast(),
                right.len(),
            )
        };
        order.cmp(&0)
    }
}

/// A comparator of the caller. A database that is open with it keeps it.
pub(crate) struct ComparatorHandle(pub(crate) Arc<UserComparator>);

/// # Safety
///
/// See the crate; the functions take the state, from several threads at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn leveldb_comparator_create(
    state: *mut c_void,
    destructor: Option<Destructor>,
    compare: Option<CompareCall>,
    name: Option<NameCall>,
) -> Option<Box<ComparatorHandle>> {
    answered(None, || {
        let (compare, name) = (given(compare, "compare")?, given(name, "name")?);
        // SAFETY: the caller says so; the function returns a text.
        let name = unsafe { c_text(name(state), "name") }?.to_owned();
        let state = State::new(state, destructor);
        Ok(Some(Box::new(ComparatorHandle(Arc::new(UserComparator { state, compare, name })))))
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn leveldb_comparator_destroy(comparator: Option<Box<ComparatorHandle>>) {
    done(|| drop(comparator));
}
