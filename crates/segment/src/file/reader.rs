//! An open segment file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::checksum::crc32c;
use basalt_base::fs::Storage;
use basalt_base::region::{BlockChecks, CHECK_BLOCK_BYTES};
use basalt_base::{Error, FileAction, Result};

use super::access::Access;
use super::bytes::Bytes;
use super::component::ComponentReader;
use super::contents::Contents;
use super::directory::{Component, Directory};
use super::format::{FOOTER_BYTES, Features, Footer, HEADER_BYTES, Header};
use crate::{Corrupt, Place, ROWS_MAX};

/// A segment file, whose directory was read and checked.
#[derive(Debug)]
pub struct SegmentFile {
    path: PathBuf,
    access: Access,
    bytes: u64,
    /// The bytes before the directory.
    section_bytes: usize,
    contents: Contents,
    header: Header,
    directory: Directory,
    /// The index of each component.
    names: HashMap<String, usize>,
}

impl SegmentFile {
    pub fn open(storage: &dyn Storage, path: &Path, access: Access) -> Result<SegmentFile> {
        let file = storage.open(path)?;
        let read = |offset: u64, bytes: &mut [u8]| {
            file.read_at(offset, bytes).map_err(|error| Error::io(FileAction::Read, path, &error))
        };
        let size = file.size();
        let least = (HEADER_BYTES + FOOTER_BYTES) as u64;
        if size < least {
            return Err(Corrupt::Short { bytes: size, least }.at(path));
        }
        let (mut front, mut back) = ([0; HEADER_BYTES], [0; FOOTER_BYTES]);
        read(0, &mut front)?;
        read(size - FOOTER_BYTES as u64, &mut back)?;
        let header = Header::decode(&front).map_err(|corrupt| corrupt.at(path))?;
        let footer = Footer::decode(&back).map_err(|corrupt| corrupt.at(path))?;
        if footer.offset.checked_add(footer.bytes) != Some(size - FOOTER_BYTES as u64) {
            return Err(Corrupt::Truncated.at(path));
        }
        let mut bytes = vec![0; usize::try_from(footer.bytes).map_err(Error::logical)?];
        read(footer.offset, &mut bytes)?;
        if crc32c(&bytes) != footer.sum {
            return Err(Corrupt::Checksum { what: "directory" }.at(path));
        }
        let directory = checked(Directory::decode(&bytes, footer.offset), footer.offset)
            .map_err(|corrupt| corrupt.at(path))?;
        let names = names(&directory).map_err(|corrupt| corrupt.at(path))?;
        let sections = usize::try_from(footer.offset).map_err(Error::logical)?;
        let checks = BlockChecks::new(path.display().to_string(), sections, directory.sums.clone());
        let contents = Contents::open(storage, path, Arc::clone(&file), checks, access)?;
        Ok(SegmentFile {
            path: path.to_owned(),
            access,
            bytes: size,
            section_bytes: sections,
            contents,
            header,
            directory,
            names,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn access(&self) -> Access {
        self.access
    }

    /// The number that the table gave to the segment.
    pub fn segment(&self) -> u64 {
        self.header.segment
    }

    pub fn features(&self) -> Features {
        self.header.features
    }

    /// Rows with the tombstones among them.
    pub fn rows(&self) -> u32 {
        // Opening has compared it with ROWS_MAX.
        self.directory.rows as u32
    }

    pub fn tombstones(&self) -> u32 {
        self.directory.tombstones as u32
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn components(&self) -> &[Component] {
        &self.directory.components
    }

    /// The component of this name, if there is one.
    pub fn find(&self, name: &str) -> Result<Option<ComponentReader<'_>>> {
        let found = self.names.get(name).and_then(|&index| self.components().get(index));
        found.map(|component| self.reader(component)).transpose()
    }

    /// The component of this name; an error if there is none.
    pub fn component(&self, name: &str) -> Result<ComponentReader<'_>> {
        self.find(name)?.ok_or_else(|| Corrupt::Missing { component: name.to_owned() }.at(&self.path))
    }

    fn reader<'a>(&self, component: &'a Component) -> Result<ComponentReader<'a>> {
        let place = Place::new(&self.path, &component.name);
        let sections = component.sections.iter().map(|range| {
            // The directory has compared them with the size.
            Bytes::new(&self.contents, range.start as usize..range.end as usize)
                .ok_or_else(|| place.corrupt("a section is outside of the file"))
        });
        let sections = sections.collect::<Result<_>>()?;
        Ok(ComponentReader::new(component, place, sections))
    }

    pub(super) fn section_bytes(&self) -> usize {
        self.section_bytes
    }

    pub(super) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Compares all checksums.
    pub fn check(&self) -> Result<()> {
        self.contents.check()
    }

    /// An error if the file became shorter or its disk failed while its mapping was read. It must be called before the
    /// result of a lookup is used.
    pub fn check_present(&self) -> Result<()> {
        self.contents.check_present()
    }
}

/// The index of each component by its name.
fn names(directory: &Directory) -> Result<HashMap<String, usize>, Corrupt> {
    let mut names = HashMap::with_capacity(directory.components.len());
    for (index, Component { name, .. }) in directory.components.iter().enumerate() {
        if names.insert(name.clone(), index).is_some() {
            let what = "it is in the directory twice".to_owned();
            return Err(Corrupt::Component { component: name.clone(), what });
        }
    }
    Ok(names)
}

/// The directory, if its counts fit the file: sections of `end` bytes.
fn checked(directory: Result<Directory, Corrupt>, end: u64) -> Result<Directory, Corrupt> {
    let directory = directory?;
    let pages = end.div_ceil(CHECK_BLOCK_BYTES as u64);
    let fits = directory.sums.len() as u64 == pages
        && directory.rows <= ROWS_MAX
        && directory.tombstones <= directory.rows;
    match fits {
        true => Ok(directory),
        false => Err(Corrupt::Truncated),
    }
}
