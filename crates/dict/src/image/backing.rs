//! Where the bytes of a dictionary are: in memory or in a file.

use std::sync::Arc;

use basalt_base::Result;
use basalt_base::region::Region;

/// The file that a dictionary's sections are in, if they are in one.
#[derive(Debug, Default)]
pub(crate) struct Backing(Option<Arc<Region>>);

impl Backing {
    pub(crate) fn of(file: Arc<Region>) -> Backing {
        Backing(Some(file))
    }

    /// Whether it is a file whose checksums were not all compared yet.
    pub(crate) fn is_unchecked(&self) -> bool {
        self.0.as_ref().is_some_and(|file| !file.is_checked())
    }

    /// See [`crate::Dictionary::check`].
    pub(crate) fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |file| file.check_all())
    }

    /// An error if the file is damaged or shorter than it was: to be called for each block, after its answer is made.
    pub(crate) fn check_present(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |file| file.check_present())
    }

    /// See [`crate::Dictionary::is_damaged`].
    pub(crate) fn is_damaged(&self) -> bool {
        self.0.as_ref().is_some_and(|file| file.is_damaged())
    }

    /// The memory of a dictionary that has `bytes` in all, `outside` of them in no section.
    pub(crate) fn memory_bytes(&self, bytes: u64, outside: usize) -> u64 {
        match self.0.as_ref().is_some_and(|file| file.is_of_file()) {
            true => outside as u64,
            false => bytes,
        }
    }
}
