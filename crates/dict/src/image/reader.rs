//! Reads the parts of a dictionary's file.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use basalt_base::checksum::crc32c;
use basalt_base::fs::Storage;
use basalt_base::region::{BlockChecks, CHECK_BLOCK_BYTES, Region, Section};
use basalt_base::{Error, ErrorCode, Result, bail};

use super::format::{MAGIC, TRAILER_BYTES, VERSION};

/// Returns what an [`super::ImageWriter`] took, in the same order.
pub(crate) struct ImageReader<'a> {
    shape: Front<'a>,
    sections: Vec<Section>,
    next: usize,
}

/// The result of `open` for the file at `path`, which [`super::write_parts`] wrote.
pub(crate) fn open_parts<T>(
    storage: &dyn Storage,
    path: &Path,
    open: impl FnOnce(&mut ImageReader<'_>) -> Result<T>,
) -> Result<T> {
    let name = path.to_string_lossy();
    let (file, _) = ImageFile::checked(storage.map(path)?, &name, "")?;
    file.read(&name, open)
}

/// The bytes of a file whose trailer was checked. The checksums of its sections are compared when a section is first
/// used.
pub(crate) struct ImageFile {
    region: Arc<Region>,
    shape: Vec<u8>,
    sections: Vec<Range<usize>>,
}

impl ImageFile {
    /// The file called `name`, which must have been written for `definition`, and its stamp.
    pub(crate) fn checked(file: Region, name: &str, definition: &str) -> Result<(ImageFile, Vec<u8>)> {
        let Contents { definition: found, stamp, shape, sections, sums, numbers } = contents(&file, name)?;
        if found != definition.as_bytes() {
            bail!(IncorrectDictionaryDefinition, "{name} was written for another definition");
        }
        let (shape, stamp) = (shape.to_vec(), stamp.to_vec());
        let region = Arc::new(file.with_checks(BlockChecks::new(name.to_owned(), numbers, sums)));
        Ok((ImageFile { region, shape, sections }, stamp))
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// The same file in memory of the process; every checksum must have been compared before.
    pub(crate) fn read_into_memory(self) -> Result<ImageFile> {
        Ok(ImageFile { region: Arc::new(self.region.read_into_memory()?), ..self })
    }

    /// Hands the parts of the file to `open`. Errors name the file `name`.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        open: impl FnOnce(&mut ImageReader<'_>) -> Result<T>,
    ) -> Result<T> {
        let sections = self.sections.iter().map(|range| Section::new(&self.region, range.clone()));
        let sections = sections.collect::<Option<Vec<_>>>().ok_or_else(|| corrupt(name))?;
        let mut reader = ImageReader { shape: Front(&self.shape), sections, next: 0 };
        open(&mut reader).map_err(|error| error.within(name))
    }
}

/// What is after the sections.
pub(super) struct Contents<'a> {
    pub(super) definition: &'a [u8],
    pub(super) stamp: &'a [u8],
    pub(super) shape: &'a [u8],
    pub(super) sections: Vec<Range<usize>>,
    pub(super) sums: Vec<u32>,
    /// Where the numbers begin; `sums` are the checksums of the bytes before them.
    pub(super) numbers: usize,
}

pub(super) fn contents<'a>(file: &'a Region, name: &str) -> Result<Contents<'a>> {
    let (numbers_at, numbers) = numbers(file, name)?;
    let mut front = Front(numbers);
    let mut read = || {
        let mut text = || front.u32().and_then(|len| front.take(len as usize));
        let (definition, stamp, shape) = (text()?, text()?, text()?);
        let count = front.u32()?;
        let sections = (0..count).map(|_| section(&mut front, numbers_at)).collect::<Option<_>>()?;
        let count = front.u32()? as usize;
        if count != numbers_at.div_ceil(CHECK_BLOCK_BYTES) {
            return None;
        }
        let sums = (0..count).map(|_| front.u32()).collect::<Option<_>>()?;
        front.0.is_empty().then_some(Contents {
            definition,
            stamp,
            shape,
            sections,
            sums,
            numbers: numbers_at,
        })
    };
    read().ok_or_else(|| corrupt(name))
}

/// The numbers after the sections, and where they begin.
fn numbers<'a>(file: &'a Region, name: &str) -> Result<(usize, &'a [u8])> {
    let Some((before, trailer)) = file.split_last_chunk::<TRAILER_BYTES>() else {
        return Err(corrupt(name));
    };
    let (summed, end) = trailer.split_at(TRAILER_BYTES - 8);
    if end[4..] != MAGIC || crc32c(summed).to_le_bytes() != end[..4] {
        return Err(corrupt(name));
    }
    let mut front = Front(summed);
    let mut read = || Some((front.u64()?, front.u64()?, front.u32()?, front.u32()?));
    let (at, bytes, sum, version) = read().ok_or_else(|| corrupt(name))?;
    if version != VERSION {
        return Err(Error::not_implemented(format!(
            "version {version} of a dictionary's file ({name}; this build reads {VERSION})"
        )));
    }
    let numbers = usize::try_from(at).ok().and_then(|at| before.get(at..)).ok_or_else(|| corrupt(name))?;
    if numbers.len() as u64 != bytes || crc32c(numbers) != sum {
        return Err(corrupt(name));
    }
    Ok((before.len() - numbers.len(), numbers))
}

fn section(front: &mut Front<'_>, end: usize) -> Option<Range<usize>> {
    let start = usize::try_from(front.u64()?).ok()?;
    let range = start..start.checked_add(usize::try_from(front.u64()?).ok()?)?;
    (range.end <= end).then_some(range)
}

impl ImageReader<'_> {
    pub(crate) fn number(&mut self) -> Result<u64> {
        self.shape.u64().ok_or_else(ImageReader::unfit)
    }

    /// A number below `limit`.
    pub(crate) fn number_below(&mut self, limit: u64) -> Result<u64> {
        self.number().and_then(|number| if number < limit { Ok(number) } else { Err(ImageReader::unfit()) })
    }

    pub(crate) fn count(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| ImageReader::unfit())
    }

    pub(crate) fn flag(&mut self) -> Result<bool> {
        self.number_below(2).map(|flag| flag == 1)
    }

    pub(crate) fn section(&mut self) -> Result<Section> {
        let section = self.sections.get(self.next).cloned().ok_or_else(ImageReader::unfit)?;
        self.next += 1;
        Ok(section)
    }

    /// A section of at least `bytes_min` bytes.
    pub(crate) fn section_of(&mut self, bytes_min: Option<usize>) -> Result<Section> {
        let section = self.section()?;
        match bytes_min {
            Some(bytes_min) if section.len() >= bytes_min => Ok(section),
            _ => Err(ImageReader::unfit()),
        }
    }

    /// The error of a file whose contents do not fit the definition or each other.
    pub(crate) fn unfit() -> Error {
        Error::new(ErrorCode::CorruptedData, "the parts of a dictionary's file do not fit together")
    }

    /// Whether everything was read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.shape.0.is_empty() && self.next == self.sections.len()
    }
}

/// A cursor over bytes.
struct Front<'a>(&'a [u8]);

impl<'a> Front<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(front)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

fn corrupt(name: &str) -> Error {
    Error::new(ErrorCode::CorruptedData, format!("{name} is cut short or damaged at its end"))
}
