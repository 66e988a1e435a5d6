//! Memory that the program has freed and its allocator keeps.

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
