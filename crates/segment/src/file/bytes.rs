//! The bytes of a section in a file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use basalt_base::fs::RandomAccess;
use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::access::Access;

/// A section. Cloning shares it.
#[derive(Clone)]
pub struct Bytes {
    /// The mapping, which is only touched with [`Access::Mapped`].
    section: Section,
    file: Arc<dyn RandomAccess>,
    offset: u64,
    access: Access,
}

impl Bytes {
    pub(super) fn new(section: Section, file: Arc<dyn RandomAccess>, offset: u64, access: Access) -> Bytes {
        Bytes { section, file, offset, access }
    }

    pub fn len(&self) -> usize {
        self.section.len()
    }

    pub fn is_empty(&self) -> bool {
        self.section.is_empty()
    }

    /// The bytes of `range`, in the mapping or read into `buffer`. Checksums that were not compared yet are. A range
    /// outside of the section is an error: it came from damaged numbers.
    #[inline]
    pub fn read<'a>(&'a self, range: Range<usize>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        if range.start > range.end || range.end > self.section.len() {
            return Err(outside(&range, self.section.len()));
        }
        self.section.check(range.clone())?;
        match self.access {
            Access::Mapped => Ok(&self.section[range]),
            Access::Read => self.read_file(range, buffer),
        }
    }

    /// Prefetches the byte `at` if the section is read through its mapping, for callers that will read it soon.
    #[inline(always)]
    pub fn prefetch(&self, at: usize) {
        if self.access == Access::Mapped {
            prefetch_read(&self.section, at);
        }
    }

    fn read_file<'a>(&self, range: Range<usize>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        buffer.clear();
        buffer.resize(range.len(), 0);
        self.file.read_at(self.offset + range.start as u64, buffer).map_err(|error| {
            Error::new(ErrorCode::CannotReadFromFile, format!("a segment in use cannot be read: {error}"))
        })?;
        Ok(buffer)
    }

    /// All bytes as memory, checked: the mapping, or a copy.
    pub fn resident(&self) -> Result<Section> {
        self.section.check(0..self.section.len())?;
        match self.access {
            Access::Mapped => Ok(self.section.clone()),
            Access::Read => {
                let mut copy = Region::zeroed(self.section.len())?;
                self.file.read_at(self.offset, &mut copy).map_err(|error| {
                    Error::new(
                        ErrorCode::CannotReadFromFile,
                        format!("a segment in use cannot be read: {error}"),
                    )
                })?;
                Ok(copy.into())
            }
        }
    }
}

#[cold]
fn outside(range: &Range<usize>, bytes: usize) -> Error {
    let what = format!("bytes {} to {} of a section of {bytes} bytes of a segment", range.start, range.end);
    Error::new(ErrorCode::CorruptedData, format!("{what} were referred to"))
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bytes").field("bytes", &self.len()).field("access", &self.access).finish()
    }
}
