//! The ways to read the bytes of a segment.

/// How values are read. Key indexes, offsets and other small structures are mapped or read whole in either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// The file is memory: a page is read when it is first touched.
    #[default]
    Mapped,
    /// Each value is read by a system call. A page fault of a mapping stops a thread and reads at least a page of the
    /// system; with data far above the memory, reads of exact ranges are faster.
    Read,
}
