//! Opens a dictionary over the bytes of its file.

use std::path::Path;
use std::sync::Arc;

use basalt_base::Result;
use basalt_base::fs::Storage;
use basalt_base::region::Region;

use super::reader::ImageFile;
use crate::dictionary::Dictionary;
use crate::loaded;
use crate::spec::DictionarySpec;

/// Names a file without a name in errors.
const UNNAMED: &str = "a new version";

/// Opens the file at `path` as a dictionary, and returns its stamp. [`super::save`] wrote the file for the same
/// `definition`. Little more than the places of the sections is read.
///
/// Damaged contents are `CORRUPTED_DATA`, here, or `CHECKSUM_DOESNT_MATCH`, later. Another version is
/// `NOT_IMPLEMENTED`, another definition is `INCORRECT_DICTIONARY_DEFINITION`.
pub fn open(
    spec: DictionarySpec,
    storage: &dyn Storage,
    path: &Path,
    definition: &str,
) -> Result<(Arc<dyn Dictionary>, Vec<u8>)> {
    let name = path.to_string_lossy();
    let (file, stamp) = ImageFile::checked(storage.map(path)?, &name, definition)?;
    Ok((dictionary(spec, &file, &name)?, stamp))
}

/// Opens the bytes of a file that will be published at `path`; see [`open`].
pub(crate) fn open_unpublished(
    spec: DictionarySpec,
    file: Region,
    path: &Path,
    definition: &str,
) -> Result<Arc<dyn Dictionary>> {
    let name = path.to_string_lossy();
    let (file, _) = ImageFile::checked(file, &name, definition)?;
    dictionary(spec, &file, &name)
}

/// A dictionary in a file without a name, and the means to read the same version into memory.
pub struct UnnamedVersion {
    spec: DictionarySpec,
    file: ImageFile,
    dictionary: Arc<dyn Dictionary>,
}

impl UnnamedVersion {
    /// Opens `file`, which no one else has, and compares all of its checksums.
    pub(crate) fn open(spec: DictionarySpec, file: Region, definition: &str) -> Result<UnnamedVersion> {
        let (file, _) = ImageFile::checked(file, UNNAMED, definition)?;
        file.region().check_all()?;
        let dictionary = dictionary(spec.clone(), &file, UNNAMED)?;
        Ok(UnnamedVersion { spec, file, dictionary })
    }

    /// The version that answers from the file.
    pub fn dictionary(&self) -> &Arc<dyn Dictionary> {
        &self.dictionary
    }

    /// The same version in memory, on huge pages where the system has them. The file goes with its last reader.
    pub fn read_into_memory(self) -> Result<Arc<dyn Dictionary>> {
        let UnnamedVersion { spec, file, .. } = self;
        dictionary(spec, &file.read_into_memory()?, UNNAMED)
    }
}

fn dictionary(spec: DictionarySpec, file: &ImageFile, name: &str) -> Result<Arc<dyn Dictionary>> {
    file.read(name, |reader| loaded::open(spec, reader, Arc::clone(file.region())))
}
