//! The ways to read the bytes of a segment.

/// How values are read. Key indexes, filters, dictionaries and offsets are mapped or read whole in either way, when the
/// file is opened.
///
/// A mapping tells the system that values are read in any order: a page is read alone, and ahead of a scan. So both
/// ways work with files far above the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// The file is memory: a page is read when it is first touched. Values that are in memory need no system call, and
    /// key indexes can leave the memory.
    #[default]
    Mapped,
    /// Each value is read by a system call. The file takes no mapping, and no thread waits for a page fault.
    Read,
}
