//! The bytes of a section in a file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{PageAdvice, Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::contents::{CheckedFile, Contents};

/// A smaller section is read with a few read-aheads. Each larger one takes two of the mappings of the process.
const RANDOM_BYTES_MIN: usize = 16 << 20;
/// Pages of a range that is larger than this are read together.
const AHEAD_BYTES_MIN: usize = 16 << 10;

/// A section. Cloning shares it.
#[derive(Clone)]
pub struct Bytes(Place);

#[derive(Clone)]
enum Place {
    Mapped(Section),
    Read { file: Arc<CheckedFile>, range: Range<usize> },
}

impl Bytes {
    /// `None` if `range` exceeds the file. The directory has compared it with the size of a file that is read.
    pub(super) fn new(contents: &Contents, range: Range<usize>) -> Option<Bytes> {
        match contents {
            Contents::Mapped(region) => {
                Section::new(region, range).map(|section| Bytes(Place::Mapped(section)))
            }
            Contents::Read(file) => Some(Bytes(Place::Read { file: Arc::clone(file), range })),
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Place::Mapped(section) => section.len(),
            Place::Read { range, .. } => range.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of `range`, in the mapping or read into `buffer`. Checksums that were not compared yet are. A range
    /// outside of the section is an error: it came from damaged numbers.
    #[inline]
    pub fn read<'a>(&'a self, range: Range<usize>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        if range.start > range.end || range.end > self.len() {
            return Err(outside(&range, self.len()));
        }
        match &self.0 {
            Place::Mapped(section) => {
                if range.len() >= AHEAD_BYTES_MIN {
                    section.advise(range.clone(), PageAdvice::WillNeed);
                }
                section.check(range.clone())?;
                Ok(&section[range])
            }
            Place::Read { file, range: all } => {
                let range = all.start + range.start..all.start + range.end;
                file.check(range.clone())?;
                buffer.clear();
                buffer.resize(range.len(), 0);
                file.read(range.start, buffer)?;
                Ok(buffer)
            }
        }
    }

    /// Prefetches the byte `at` if the section is read through its mapping, for callers that will read it soon.
    #[inline(always)]
    pub fn prefetch(&self, at: usize) {
        if let Place::Mapped(section) = &self.0 {
            prefetch_read(section, at);
        }
    }

    /// Lets the system read `range` in the background, for callers that will read all of it in small parts. Otherwise
    /// they wait for each page of it, see [`Bytes::values`].
    pub fn read_ahead(&self, range: Range<usize>) {
        if let Place::Mapped(section) = &self.0
            && range.len() >= AHEAD_BYTES_MIN
        {
            section.advise(range, PageAdvice::WillNeed);
        }
    }

    /// The section, whose bytes will be read in any order.
    pub(super) fn values(self) -> Bytes {
        if let Place::Mapped(section) = &self.0
            && section.len() >= RANDOM_BYTES_MIN
        {
            section.advise(0..section.len(), PageAdvice::Random);
        }
        self
    }

    /// All bytes as memory, checked: the mapping, or a copy.
    pub fn resident(&self) -> Result<Section> {
        match &self.0 {
            Place::Mapped(section) => {
                section.advise(0..section.len(), PageAdvice::WillNeed);
                section.check(0..section.len())?;
                Ok(section.clone())
            }
            Place::Read { file, range } => {
                file.check(range.clone())?;
                let mut copy = Region::zeroed(range.len())?;
                file.read(range.start, &mut copy)?;
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
        let is_mapped = matches!(self.0, Place::Mapped(_));
        f.debug_struct("Bytes").field("bytes", &self.len()).field("is_mapped", &is_mapped).finish()
    }
}
