//! Writes a segment file from front to back.

use std::io::ErrorKind;

use basalt_base::checksum::crc32c;
use basalt_base::fs::WritableFile;
use basalt_base::region::CHECK_BLOCK_BYTES;
use basalt_base::{Error, ErrorCode, Result};

use super::component::PendingComponent;
use super::directory::{Component, Directory};
use super::format::{Features, Footer, Header, SECTION_ALIGNMENT};

/// Takes components one after the other.
pub struct SegmentWriter<'a> {
    out: &'a mut dyn WritableFile,
    at: u64,
    /// The bytes of the page that is not full.
    page: Vec<u8>,
    directory: Directory,
}

impl<'a> SegmentWriter<'a> {
    /// `out` is an empty file.
    pub fn begin(
        out: &'a mut dyn WritableFile,
        segment: u64,
        features: Features,
    ) -> Result<SegmentWriter<'a>> {
        let mut writer = SegmentWriter { out, at: 0, page: Vec::new(), directory: Directory::default() };
        writer.write(&Header { features, segment }.encode())?;
        Ok(writer)
    }

    pub fn add(&mut self, component: PendingComponent) -> Result<()> {
        let mut sections = Vec::with_capacity(component.sections.len());
        for spool in component.sections {
            let gap = self.at.next_multiple_of(SECTION_ALIGNMENT) - self.at;
            self.write(&[0; SECTION_ALIGNMENT as usize][..gap as usize])?;
            let start = self.at;
            spool.drain(|bytes| self.write(bytes))?;
            sections.push(start..self.at);
        }
        self.directory.components.push(Component {
            name: component.name,
            encoding: component.encoding,
            reason: component.reason,
            raw_bytes: component.raw_bytes,
            numbers: component.numbers,
            sections,
        });
        Ok(())
    }

    /// Writes the directory. Returns the bytes of the file, which the caller syncs.
    pub fn finish(mut self, rows: u64, tombstones: u64) -> Result<u64> {
        self.end_page()?;
        self.directory.rows = rows;
        self.directory.tombstones = tombstones;
        let directory = self.directory.encode();
        let footer =
            Footer { offset: self.at, bytes: directory.len() as u64, sum: crc32c(&directory) }.encode();
        self.out
            .write_all(&directory)
            .and_then(|()| self.out.write_all(&footer))
            .map_err(|error| broken(&error))?;
        Ok(self.at + (directory.len() + footer.len()) as u64)
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (front, rest) = bytes.split_at(bytes.len().min(CHECK_BLOCK_BYTES - self.page.len()));
            self.page.extend_from_slice(front);
            self.at += front.len() as u64;
            bytes = rest;
            if self.page.len() == CHECK_BLOCK_BYTES {
                self.end_page()?;
            }
        }
        Ok(())
    }

    fn end_page(&mut self) -> Result<()> {
        if !self.page.is_empty() {
            self.out.write_all(&self.page).map_err(|error| broken(&error))?;
            self.directory.sums.push(crc32c(&self.page));
            self.page.clear();
        }
        Ok(())
    }
}

fn broken(error: &std::io::Error) -> Error {
    let code = match error.kind() {
        ErrorKind::StorageFull => ErrorCode::NotEnoughSpace,
        _ => ErrorCode::CannotWriteToFile,
    };
    Error::new(code, format!("a segment could not be written: {error}"))
}
