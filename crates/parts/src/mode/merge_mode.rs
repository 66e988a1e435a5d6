//! The merge mode of a table, set by its engine.

/// How a merge combines rows with equal keys. Numbers are positions of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MergeMode {
    /// All rows stay.
    #[default]
    Ordinary,
    /// The row with the highest version stays, the last of equal ones.
    Replacing { version: Option<usize>, is_deleted: Option<usize> },
    /// One row stays, with the sums of these columns; none if all sums are zero.
    Summing { columns: Vec<usize> },
    /// Rows with the signs 1 and -1 cancel each other.
    Collapsing { sign: usize },
    /// Like collapsing, with the version as the last column of the sorting key, so that the order of insertion does
    /// not matter.
    VersionedCollapsing { sign: usize },
}

impl MergeMode {
    /// Columns that decide which rows stay, or that are summed.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            MergeMode::Ordinary => Vec::new(),
            MergeMode::Replacing { version, is_deleted } => {
                version.iter().chain(is_deleted).copied().collect()
            }
            MergeMode::Summing { columns } => columns.clone(),
            MergeMode::Collapsing { sign } | MergeMode::VersionedCollapsing { sign } => vec![*sign],
        }
    }

    /// The mode with the column at `n` moved to `place(n)`.
    pub(crate) fn moved(&self, place: impl Fn(usize) -> usize) -> MergeMode {
        match self {
            MergeMode::Ordinary => MergeMode::Ordinary,
            MergeMode::Replacing { version, is_deleted } => {
                MergeMode::Replacing { version: version.map(&place), is_deleted: is_deleted.map(&place) }
            }
            MergeMode::Summing { columns } => {
                MergeMode::Summing { columns: columns.iter().map(|&column| place(column)).collect() }
            }
            MergeMode::Collapsing { sign } => MergeMode::Collapsing { sign: place(*sign) },
            MergeMode::VersionedCollapsing { sign } => MergeMode::VersionedCollapsing { sign: place(*sign) },
        }
    }
}
