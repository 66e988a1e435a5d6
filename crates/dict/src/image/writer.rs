//! Writes sections one after the other, and then where they are.

use basalt_base::checksum::crc32c;
use basalt_base::fs::WritableFile;
use basalt_base::region::CHECK_BLOCK_BYTES;
use basalt_base::{Error, ErrorCode, Result};

use super::format::{MAGIC, SECTION_ALIGNMENT, TRAILER_BYTES, VERSION};

/// Takes the sections and numbers of a layout and its columns, in any order.
pub struct ImageWriter<'a> {
    out: &'a mut dyn WritableFile,
    written: Written,
}

/// The state of an [`ImageWriter`] after some bytes: it is needed to continue or to end the file.
#[derive(Default)]
pub(crate) struct Written {
    at: u64,
    /// The bytes of the block that is not full.
    block: Vec<u8>,
    sums: Vec<u32>,
    piece: Piece,
}

/// Some numbers of the shape, and where their sections are. Pieces may be put in another order than they were written
/// in.
#[derive(Default)]
pub(crate) struct Piece {
    shape: Vec<u8>,
    sections: Vec<(u64, u64)>,
}

/// Writes a file for [`super::open_parts`].
pub(crate) fn write_parts(
    out: &mut dyn WritableFile,
    save: impl FnOnce(&mut ImageWriter<'_>) -> Result<()>,
) -> Result<()> {
    write_image(out, "", &[], save)
}

pub(super) fn write_image(
    out: &mut dyn WritableFile,
    definition: &str,
    stamp: &[u8],
    save: impl FnOnce(&mut ImageWriter<'_>) -> Result<()>,
) -> Result<()> {
    let mut image = ImageWriter::resume(out, Written::default());
    save(&mut image)?;
    image.finish(definition, stamp)
}

impl<'a> ImageWriter<'a> {
    /// Continues after what was `written` to `out`.
    pub(crate) fn resume(out: &'a mut dyn WritableFile, written: Written) -> ImageWriter<'a> {
        ImageWriter { out, written }
    }

    /// Stops, to be resumed later.
    pub(crate) fn pause(self) -> Written {
        self.written
    }

    /// Adds a number to the shape.
    pub(crate) fn number(&mut self, number: u64) {
        self.written.piece.shape.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.number(u64::from(flag));
    }

    /// Writes the bytes of a table or a column.
    pub(crate) fn section(&mut self, bytes: &[u8]) -> Result<()> {
        let gap = self.written.at.next_multiple_of(SECTION_ALIGNMENT) - self.written.at;
        self.write(&[0; SECTION_ALIGNMENT as usize][..gap as usize])?;
        self.written.piece.sections.push((self.written.at, bytes.len() as u64));
        self.write(bytes)
    }

    /// Writes a piece, which belongs where it is [put](ImageWriter::put).
    pub(crate) fn piece(&mut self, save: impl FnOnce(&mut Self) -> Result<()>) -> Result<Piece> {
        let before = std::mem::take(&mut self.written.piece);
        save(self)?;
        Ok(std::mem::replace(&mut self.written.piece, before))
    }

    pub(crate) fn put(&mut self, piece: Piece) {
        self.written.piece.shape.extend(piece.shape);
        self.written.piece.sections.extend(piece.sections);
    }

    pub(crate) fn finish(mut self, definition: &str, stamp: &[u8]) -> Result<()> {
        self.end_block()?;
        let Written { at, sums, piece: Piece { shape, sections }, .. } = self.written;
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
        numbers.extend_from_slice(&count(sums.len())?);
        sums.iter().for_each(|sum| numbers.extend_from_slice(&sum.to_le_bytes()));
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.extend_from_slice(&at.to_le_bytes());
        trailer.extend_from_slice(&(numbers.len() as u64).to_le_bytes());
        trailer.extend_from_slice(&crc32c(&numbers).to_le_bytes());
        trailer.extend_from_slice(&VERSION.to_le_bytes());
        trailer.extend_from_slice(&crc32c(&trailer).to_le_bytes());
        trailer.extend_from_slice(&MAGIC);
        self.out
            .write_all(&numbers)
            .and_then(|()| self.out.write_all(&trailer))
            .map_err(|error| broken(&error))
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (front, rest) = bytes.split_at(bytes.len().min(CHECK_BLOCK_BYTES - self.written.block.len()));
            self.written.block.extend_from_slice(front);
            self.written.at += front.len() as u64;
            bytes = rest;
            if self.written.block.len() == CHECK_BLOCK_BYTES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        let Written { block, sums, .. } = &mut self.written;
        if !block.is_empty() {
            self.out.write_all(block).map_err(|error| broken(&error))?;
            sums.push(crc32c(block));
            block.clear();
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
