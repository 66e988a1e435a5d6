//! Bytes of a section until the file is assembled.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_base::fs::{RandomAccess, Storage, WritableFile};
use basalt_base::{Error, FileAction, Result};

/// Bytes that a spool holds in memory before it goes to a file.
const MEMORY_BYTES_MAX: usize = 1 << 20;
const READ_BYTES: usize = 256 << 10;

/// A directory for the files of spools.
#[derive(Clone, Debug)]
pub struct SpoolPlace {
    storage: Arc<dyn Storage>,
    dir: PathBuf,
    next: Arc<AtomicU64>,
}

/// Bytes that are written once from front to back, and read back once. Several columns are encoded in one pass over the
/// rows; each writes its sections to spools of its own, so the memory of a build does not grow with the rows.
#[derive(Debug)]
pub struct Spool {
    place: SpoolPlace,
    memory: Vec<u8>,
    file: Option<SpoolFile>,
    bytes: u64,
}

struct SpoolFile {
    path: PathBuf,
    out: Box<dyn WritableFile>,
}

impl std::fmt::Debug for SpoolFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpoolFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SpoolPlace {
    /// Spools make files in `dir`, which exists and holds nothing else.
    pub fn new(storage: Arc<dyn Storage>, dir: PathBuf) -> SpoolPlace {
        SpoolPlace { storage, dir, next: Arc::default() }
    }

    pub fn spool(&self) -> Spool {
        Spool { place: self.clone(), memory: Vec::new(), file: None, bytes: 0 }
    }

    /// A spool with these bytes.
    pub fn spool_of(&self, bytes: &[u8]) -> Result<Spool> {
        let mut spool = self.spool();
        spool.write(bytes)?;
        Ok(spool)
    }
}

impl Spool {
    /// The bytes written so far.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        self.memory.extend_from_slice(bytes);
        match self.memory.len() > MEMORY_BYTES_MAX {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            empty => {
                let number = self.place.next.fetch_add(1, Ordering::Relaxed);
                let path = self.place.dir.join(format!("spool-{number}.tmp"));
                let out = self.place.storage.create(&path)?;
                empty.insert(SpoolFile { path, out })
            }
        };
        file.out.write_all(&self.memory).map_err(|error| Error::io(FileAction::Write, &file.path, &error))?;
        self.memory.clear();
        Ok(())
    }

    /// Hands all bytes to `take` in order, piece by piece, and removes the file.
    pub(super) fn drain(mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if let Some(mut file) = self.file.take() {
            let read = drain_file(&self.place, &mut file, self.bytes - self.memory.len() as u64, &mut take);
            self.place.storage.remove_file(&file.path)?;
            read?;
        }
        take(&self.memory)
    }
}

/// Reads a spool piece by piece, so that several can be merged. The file is removed when it is dropped.
#[derive(Debug)]
pub struct SpoolReader {
    spool: Spool,
    file: Option<Arc<dyn RandomAccess>>,
    at: u64,
}

impl Spool {
    pub fn into_reader(mut self) -> Result<SpoolReader> {
        let mut input = None;
        if self.file.is_some() {
            // The rest goes to the file too: many readers would keep much memory.
            self.flush()?;
            self.memory = Vec::new();
        }
        if let Some(file) = &mut self.file {
            file.out.flush().map_err(|error| Error::io(FileAction::Write, &file.path, &error))?;
            input = Some(self.place.storage.open(&file.path)?);
        }
        Ok(SpoolReader { spool: self, file: input, at: 0 })
    }
}

impl SpoolReader {
    /// Fills the front of `out` with the next bytes, and returns how many there are: fewer than fit only at the end.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let bytes = (self.spool.bytes - self.at).min(out.len() as u64) as usize;
        let out = &mut out[..bytes];
        match (&self.file, &self.spool.file) {
            (Some(input), Some(file)) => input
                .read_at(self.at, out)
                .map_err(|error| Error::io(FileAction::Read, &file.path, &error))?,
            _ => out.copy_from_slice(&self.spool.memory[self.at as usize..][..bytes]),
        }
        self.at += bytes as u64;
        Ok(bytes)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // A leftover is removed with its directory.
            let _ = self.place.storage.remove_file(&file.path);
        }
    }
}

fn drain_file(
    place: &SpoolPlace,
    file: &mut SpoolFile,
    bytes: u64,
    take: &mut impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::io(FileAction::Read, &file.path, &error);
    file.out.flush().map_err(failed)?;
    let input = place.storage.open(&file.path)?;
    let mut piece = vec![0; READ_BYTES];
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(READ_BYTES as u64);
        let piece = &mut piece[..length as usize];
        input.read_at(at, piece).map_err(failed)?;
        take(piece)?;
        at += length;
    }
    Ok(())
}
