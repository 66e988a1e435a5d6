//! The program's allocator: counts what each query holds, and returns freed pages to the system.

use std::alloc::{GlobalAlloc, Layout};

use crate::query::count;

/// Charges what `A` allocates and frees to the query of the thread ([`crate::query`]). It counts the requested
/// sizes, so that a block counts the same when it is freed as when it was allocated.
#[derive(Debug, Default)]
pub struct TrackingAllocator<A>(pub A);

// SAFETY: every call is handed on as it came, with the contract of the caller; counting takes no memory and
// cannot unwind.
unsafe impl<A: GlobalAlloc> GlobalAlloc for TrackingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's contract is the inner allocator's.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's contract is the inner allocator's.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's contract is the inner allocator's.
        unsafe { self.0.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes as i64 - layout.size() as i64);
        // SAFETY: the caller's contract is the inner allocator's.
        unsafe { self.0.realloc(block, layout, bytes) }
    }
}

/// Returns free pages to the system at once. mimalloc keeps them for a second; work that passes through much memory
/// in that time, such as a merge of many columns, would come to hold all of it.
///
/// The caller's program must have mimalloc as its allocator. The function is inlined because other programs have no
/// such symbol.
#[inline]
pub fn release_free_pages() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: it takes no pointer, may be called on any thread at any time, and touches only what is free.
    unsafe { mi_collect(true) }
}
