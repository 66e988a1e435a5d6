//! In which form the rows leave a scan.

/// In which form the rows leave the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// In any order.
    Anyhow,
    /// A last column says which row it is: see [`super::rows`].
    WithPlaces,
    /// Each thread in the order of the sorting key.
    InOrder,
    /// Each thread in the reverse of it.
    InReverse,
}
