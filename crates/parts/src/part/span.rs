//! The bytes of a column or index of a part: a file, or a section of a compact part's data file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use basalt_base::FileAction;
use basalt_base::fs::{RandomAccess, Storage};

use crate::error::{ByteSource, Damage, Result};

/// A place on disk.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    path: PathBuf,
    stretch: Option<(Stretch, Arc<SharedFile>)>,
}

/// The data file of a compact part, opened once for all its columns.
#[derive(Debug, Default)]
pub(crate) struct SharedFile(Mutex<Option<Weak<dyn RandomAccess>>>);

impl SharedFile {
    fn open(&self, storage: &dyn Storage, path: &Path) -> Result<Arc<dyn RandomAccess>> {
        // A panic while it was held left the value intact.
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.as_ref().and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = storage.open(path)?;
        *open = Some(Arc::downgrade(&file));
        Ok(file)
    }
}

/// A section of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Bytes of the whole file, from the part's metadata.
    pub(crate) file_bytes: u64,
}

impl Span {
    /// A whole file.
    pub(crate) fn whole(path: PathBuf) -> Span {
        Span { path, stretch: None }
    }

    /// A section of a file; all its sections share the open file.
    pub(crate) fn stretch(path: PathBuf, stretch: Stretch, file: &Arc<SharedFile>) -> Span {
        Span { path, stretch: Some((stretch, Arc::clone(file))) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a whole file.
    pub(crate) fn is_whole(&self) -> bool {
        self.stretch.is_none()
    }

    /// Opens the bytes like a file.
    pub(crate) fn open(&self, storage: &dyn Storage) -> Result<Arc<dyn RandomAccess>> {
        let Some((stretch, shared)) = &self.stretch else { return Ok(storage.open(&self.path)?) };
        let (stretch, file) = (*stretch, shared.open(storage, &self.path)?);
        let expected = stretch.file_bytes;
        let fits = stretch.offset.checked_add(stretch.bytes).is_some_and(|end| end <= expected);
        if file.size() != expected || !fits {
            let what = format!("the file has {} bytes, the part's metadata says {expected}", file.size());
            return Err(Damage { at: file.size().min(expected), what }.in_file(&self.path));
        }
        Ok(Arc::new(Window { file, stretch }))
    }

    /// Reads all bytes, which must be `expected` many.
    pub(crate) fn read(&self, storage: &dyn Storage, expected: u64) -> Result<Vec<u8>> {
        let file = self.open(storage)?;
        if file.size() != expected {
            let what = format!("the file has {} bytes, the part's metadata says {expected}", file.size());
            return Err(Damage { at: file.size().min(expected), what }.in_file(self));
        }
        let mut bytes = vec![0; expected as usize];
        file.read_at(0, &mut bytes)
            .map_err(|error| basalt_base::Error::io(FileAction::Read, &self.path, &error))?;
        Ok(bytes)
    }
}

impl ByteSource for Span {
    fn file(&self) -> &Path {
        &self.path
    }

    fn offset(&self) -> u64 {
        self.stretch.as_ref().map_or(0, |(stretch, _)| stretch.offset)
    }
}

/// An open file restricted to a section.
#[derive(Debug)]
struct Window {
    file: Arc<dyn RandomAccess>,
    stretch: Stretch,
}

impl RandomAccess for Window {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.stretch.bytes) {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.file.read_at(self.stretch.offset + offset, bytes)
    }

    fn size(&self) -> u64 {
        self.stretch.bytes
    }
}
