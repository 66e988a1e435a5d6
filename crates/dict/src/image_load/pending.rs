//! Where a loaded dictionary is, and its file before it is published.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::{PendingFile, StartedFile, Storage};
use basalt_base::{Error, Result};

use crate::dictionary::Dictionary;
use crate::image::{ImageWriter, UnnamedVersion, Written, open_unpublished};
use crate::spec::DictionarySpec;
use crate::spill::SPILL_BUFFER_BYTES;

/// Shards that are built at once, at most.
const THREADS_MAX: usize = 4;

/// Where the file will be.
pub struct ImagePlace<'a> {
    pub storage: &'a Arc<dyn Storage>,
    pub path: &'a Path,
    /// The definition of the dictionary, as for [`crate::save_image`].
    pub definition: &'a str,
    /// A directory for spill partitions, which does not exist yet.
    pub spill_dir: &'a Path,
}

/// The memory that a load may take.
#[derive(Clone, Copy, Debug)]
pub struct LoadBounds {
    /// Rows of at most this many bytes are loaded without files. More rows are spilled, and buffered in as many bytes.
    pub memory_bytes: usize,
    /// About the bytes of a shard's rows, or more if there would be too many shards.
    pub shard_bytes: usize,
}

impl Default for LoadBounds {
    fn default() -> LoadBounds {
        LoadBounds { memory_bytes: SPILL_BUFFER_BYTES, shard_bytes: 16 << 20 }
    }
}

impl LoadBounds {
    /// About what a load has in memory at most: buffered rows, or shards that are built, each as rows and as a table.
    pub fn memory_most(&self) -> usize {
        self.memory_bytes.max(threads() * 2 * self.shard_bytes)
    }
}

/// A loaded dictionary.
pub enum LoadedImage {
    /// Loaded in memory, because it is small or its layout has no file.
    InMemory(Arc<dyn Dictionary>),
    InFile(Box<PendingImage>),
}

/// A dictionary in a file that is not published yet. The file is removed when this is dropped.
pub struct PendingImage {
    spec: DictionarySpec,
    element_count: u64,
    definition: String,
    storage: Arc<dyn Storage>,
    path: PathBuf,
    /// Taken when the file ends.
    started: Option<(StartedFile, Written)>,
}

/// Starts a file, which `write` fills. It returns the number of keys.
pub(super) fn in_file(
    spec: DictionarySpec,
    place: &ImagePlace<'_>,
    write: impl FnOnce(&DictionarySpec, &mut ImageWriter<'_>) -> Result<u64>,
) -> Result<LoadedImage> {
    let mut started = PendingFile::start(place.storage.as_ref(), place.path)?;
    let mut image = ImageWriter::resume(started.file(), Written::default());
    let written = write(&spec, &mut image).map(|len| (len, image.pause()));
    match written {
        Ok((element_count, written)) => Ok(LoadedImage::InFile(Box::new(PendingImage {
            spec,
            element_count,
            definition: place.definition.to_owned(),
            storage: Arc::clone(place.storage),
            path: place.path.to_owned(),
            started: Some((started, written)),
        }))),
        Err(error) => {
            started.discard(place.storage.as_ref());
            Err(error)
        }
    }
}

/// How many shards are built at once.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

impl LoadedImage {
    pub fn element_count(&self) -> u64 {
        match self {
            LoadedImage::InMemory(dictionary) => dictionary.stats().element_count,
            LoadedImage::InFile(pending) => pending.element_count(),
        }
    }
}

impl PendingImage {
    pub fn element_count(&self) -> u64 {
        self.element_count
    }

    /// Ends the file with `stamp`, publishes and opens it. After a failure or a crash, the old file is still there.
    pub fn publish(mut self, stamp: &[u8]) -> Result<Arc<dyn Dictionary>> {
        let ended = self.end(stamp)?;
        let storage = self.storage.as_ref();
        let ended = ended.finish(storage)?;
        // A file that cannot be opened must not replace one that can. Opening compiles regular expressions, which may
        // fail.
        let opened = ended
            .map(storage)
            .and_then(|file| open_unpublished(self.spec.clone(), file, &self.path, &self.definition));
        match opened {
            Ok(dictionary) => ended.publish(storage).map(|()| dictionary),
            Err(error) => {
                ended.discard(storage);
                Err(error)
            }
        }
    }

    /// Ends the file and opens it without ever giving it a name: it is gone with its last reader.
    pub fn open_unnamed(mut self) -> Result<UnnamedVersion> {
        let file = self.end(&[])?.map_and_remove(self.storage.as_ref())?;
        UnnamedVersion::open(self.spec.clone(), file, &self.definition)
    }

    fn end(&mut self, stamp: &[u8]) -> Result<StartedFile> {
        let (mut started, written) =
            self.started.take().ok_or_else(|| Error::logical("a dictionary's file is ended once"))?;
        match ImageWriter::resume(started.file(), written).finish(&self.definition, stamp) {
            Ok(()) => Ok(started),
            Err(error) => {
                started.discard(self.storage.as_ref());
                Err(error)
            }
        }
    }
}

impl Drop for PendingImage {
    fn drop(&mut self) {
        if let Some((started, _)) = self.started.take() {
            started.discard(self.storage.as_ref());
        }
    }
}
