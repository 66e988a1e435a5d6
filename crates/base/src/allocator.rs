//! The program's allocator: it counts what each query holds. And memory that is freed and kept.

use std::alloc::{GlobalAlloc, Layout};

use crate::query::count;

/// Counts what `A` gives and gets back for the query of the thread ([`crate::query`]). Sizes are those that were asked
/// for, so that a block counts the same on its way out as on its way in.
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

/// Gives pages that nobody uses back to the system at once. mimalloc keeps them for a second, in which work that
/// goes through much memory, a merge of many columns, say, comes to hold all of it.
///
/// A program that calls this has mimalloc as its allocator; others have no such symbol, which is why it is inlined
/// where it is called.
#[inline]
pub fn release_free_pages() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: it takes no pointer, may be called on any thread at any time, and touches only what is free.
    unsafe { mi_collect(true) }
}
