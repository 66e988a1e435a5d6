//! Writes a dictionary's sections one behind the other, and then where they are.

use std::path::Path;

use basalt_base::checksum::crc32c;
use basalt_base::fs::{PendingFile, Storage, WritableFile};
use basalt_base::region::CHECK_BLOCK_BYTES;
use basalt_base::{Error, ErrorCode, Result};

use super::{MAGIC, SECTION_ALIGNMENT, TRAILER_BYTES, VERSION};
use crate::Dictionary;

/// Takes what a layout and its columns hold, in an order of their own.
pub struct ImageWriter<'a> {
    out: Summed<'a>,
    shape: Vec<u8>,
    sections: Vec<(u64, u64)>,
}

/// Sums up blocks while they are written.
struct Summed<'a> {
    out: &'a mut dyn WritableFile,
    at: u64,
    /// What was written of the block that is not full.
    block: Vec<u8>,
    sums: Vec<u32>,
}

/// Puts `dictionary` at `path`, to be opened under the same `definition`; `stamp` comes back then. It is
/// there whole and durable, or what was there before is. A dictionary that was not loaded whole has no file:
/// `NOT_IMPLEMENTED`.
pub fn save(
    dictionary: &dyn Dictionary,
    definition: &str,
    stamp: &[u8],
    storage: &dyn Storage,
    path: &Path,
) -> Result<()> {
    let write =
        |out: &mut dyn WritableFile| write_image(out, definition, stamp, |image| dictionary.save(image));
    PendingFile::write_with(storage, path, write)?.publish(storage)
}

/// Writes what `save` hands over, for [`super::open_parts`].
pub(crate) fn write_parts(
    out: &mut dyn WritableFile,
    save: impl FnOnce(&mut ImageWriter<'_>) -> Result<()>,
) -> Result<()> {
    write_image(out, "", &[], save)
}

fn write_image(
    out: &mut dyn WritableFile,
    definition: &str,
    stamp: &[u8],
    save: impl FnOnce(&mut ImageWriter<'_>) -> Result<()>,
) -> Result<()> {
    let block = Vec::with_capacity(CHECK_BLOCK_BYTES);
    let out = Summed { out, at: 0, block, sums: Vec::new() };
    let mut image = ImageWriter { out, shape: Vec::new(), sections: Vec::new() };
    save(&mut image)?;
    image.finish(definition, stamp)
}

impl ImageWriter<'_> {
    /// A number of the shape.
    pub(crate) fn number(&mut self, number: u64) {
        self.shape.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.number(u64::from(flag));
    }

    /// The bytes of a table or a column.
    pub(crate) fn section(&mut self, bytes: &[u8]) -> Result<()> {
        let gap = self.out.at.next_multiple_of(SECTION_ALIGNMENT) - self.out.at;
        self.out.write(&[0; SECTION_ALIGNMENT as usize][..gap as usize])?;
        self.sections.push((self.out.at, bytes.len() as u64));
        self.out.write(bytes)
    }

    fn finish(self, definition: &str, stamp: &[u8]) -> Result<()> {
        let ImageWriter { mut out, shape, sections } = self;
        out.end_block()?;
        let mut numbers = Vec::new();
        for text in [definition.as_bytes(), stamp, &shape] {
            numbers.extend_from_slice(&count(text.len())?);
            numbers.extend_from_slice(text);
        }
        numbers.extend_from_slice(&count(sections.len())?);
        for (offset, bytes) in sections {
            numbers.extend_from_slice(&offset.to_le_bytes());
            numbers.extend_from_slice(&bytes.to_le_bytes());
        }
        numbers.extend_from_slice(&count(out.sums.len())?);
        out.sums.iter().for_each(|sum| numbers.extend_from_slice(&sum.to_le_bytes()));
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.extend_from_slice(&out.at.to_le_bytes());
        trailer.extend_from_slice(&(numbers.len() as u64).to_le_bytes());
        trailer.extend_from_slice(&crc32c(&numbers).to_le_bytes());
        trailer.extend_from_slice(&VERSION.to_le_bytes());
        trailer.extend_from_slice(&crc32c(&trailer).to_le_bytes());
        trailer.extend_from_slice(&MAGIC);
        out.out.write_all(&numbers).and_then(|()| out.out.write_all(&trailer)).map_err(|error| broken(&error))
    }
}

impl Summed<'_> {
    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (front, rest) = bytes.split_at(bytes.len().min(CHECK_BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(front);
            self.at += front.len() as u64;
            bytes = rest;
            if self.block.len() == CHECK_BLOCK_BYTES {
                self.out.write_all(&self.block).map_err(|error| broken(&error))?;
                self.sums.push(crc32c(&self.block));
                self.block.clear();
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        if !self.block.is_empty() {
            self.out.write_all(&self.block).map_err(|error| broken(&error))?;
            self.sums.push(crc32c(&self.block));
            self.block.clear();
        }
        Ok(())
    }
}

fn count(len: usize) -> Result<[u8; 4]> {
    match u32::try_from(len) {
        Ok(len) => Ok(len.to_le_bytes()),
        Err(_) => Err(Error::not_implemented("a dictionary file of that many sections or blocks")),
    }
}

fn broken(error: &std::io::Error) -> Error {
    let code = match error.kind() {
        std::io::ErrorKind::StorageFull => ErrorCode::NotEnoughSpace,
        _ => ErrorCode::CannotWriteToFile,
    };
    Error::new(code, format!("the file of a dictionary could not be written: {error}"))
}
