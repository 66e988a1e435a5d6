//! The border style of a table.

/// The border style of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A line between any two rows.
    Full,
    /// The names are in the top line.
    Compact,
    /// Spaces only.
    Space,
}
