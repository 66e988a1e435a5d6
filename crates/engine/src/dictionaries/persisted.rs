//! The file of a dictionary with `SETTINGS(persist = 1)`: written after a load, answered from after a
//! restart.
//!
//! # Layout
//!
//! `store/<uuid>/dictionary.bin` is as `basalt_dict::image` draws it. Its stamp is what the next load must
//! know:
//!
//! ```text
//! last update, microseconds since 1970 u64 | has a watermark u8 | watermark i64 | has a revision u8 | revision
//! ```
//! All integers are little-endian.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::fs::publish_empty_dir;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{
    Dictionary, DictionarySpec, ImagePlace, LoadBounds, LoadedImage, RowForm, build_rows, load_image,
    open_image, save_image,
};
use basalt_sql::ast::{self, ObjectName};
use uuid::Uuid;

use super::built::{Built, spill_dir};
use super::definition::Definition;
use super::host::LoadHost;
use super::status::{NewVersion, Origin};

const FILE_NAME: &str = "dictionary.bin";

/// Where a dictionary is kept between two runs.
pub(super) struct PersistedFile {
    uuid: Uuid,
    /// The definition that the file must have been written for.
    statement: String,
}

impl PersistedFile {
    /// For the dictionary that `create` makes.
    pub(super) fn new(uuid: Uuid, create: &ast::CreateDictionary) -> PersistedFile {
        // Name and comment do not change the contents. The database does: tables of the source may be looked for there.
        let name = ObjectName { name: String::new(), ..create.name.clone() };
        let create = ast::CreateDictionary { name, comment: None, ..create.clone() };
        PersistedFile { uuid, statement: ast::Statement::CreateDictionary(Box::new(create)).to_string() }
    }

    fn path(&self, host: &dyn LoadHost) -> PathBuf {
        host.store_dir(self.uuid).join(FILE_NAME)
    }

    /// The dictionary of an earlier run, and when it was loaded; `None` if there is no file. A file that cannot be
    /// used is removed.
    pub(super) fn open(
        &self,
        host: &dyn LoadHost,
        definition: &Definition,
    ) -> Result<Option<(NewVersion, u64)>> {
        let (storage, path) = (host.storage().as_ref(), self.path(host));
        if !storage.exists(&path)? {
            return Ok(None);
        }
        let opened = self.open_at(host, definition, &path);
        let opened = opened.and_then(|(dictionary, stamp)| {
            let (loaded_us, origin) = read_stamp(&stamp).ok_or_else(corrupt_stamp)?;
            Ok(Some((NewVersion { dictionary, origin }, loaded_us)))
        });
        opened.map_err(|error| {
            self.remove(host);
            thrown_away(&error)
        })
    }

    /// The dictionary in the file at `path`, and its stamp.
    fn open_at(
        &self,
        host: &dyn LoadHost,
        definition: &Definition,
        path: &Path,
    ) -> Result<(Arc<dyn Dictionary>, Vec<u8>)> {
        open_image(definition.spec.clone(), host.storage().as_ref(), path, &self.statement)
    }

    /// Loads rows of this form: in memory if they are few, else into the file, which is not published yet.
    pub(super) fn load(
        &self,
        host: &dyn LoadHost,
        spec: &DictionarySpec,
        blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
        form: RowForm,
    ) -> Result<LoadedImage> {
        let (storage, path, spill_dir) = (host.storage(), self.path(host), spill_dir(host));
        if !self.is_needed(host) {
            return build_rows(spec, form, blocks).map(LoadedImage::InMemory);
        }
        publish_empty_dir(storage.as_ref(), &host.store_dir(self.uuid))?;
        let place = ImagePlace { storage, path: &path, definition: &self.statement, spill_dir: &spill_dir };
        load_image(spec.clone(), blocks, form, &place, LoadBounds::default())
    }

    /// Publishes what was loaded into the file, or writes what was loaded in memory, and returns the version that
    /// answers from the file: the system can drop its pages. If the file cannot be written, the version answers from
    /// memory, and the second result says why. Of a version with changes, the file keeps the loaded part.
    pub(super) fn save(
        &self,
        host: &dyn LoadHost,
        definition: &Definition,
        built: Built,
        origin: &Origin,
        previous: Option<&Arc<dyn Dictionary>>,
    ) -> Result<(Arc<dyn Dictionary>, Option<Error>)> {
        let stamp = stamp(host.clock().now_us(), origin);
        let dictionary = match built {
            Built::OwnFile(pending) => {
                let dictionary = pending.publish(&stamp)?;
                dictionary.check()?;
                return Ok((dictionary, None));
            }
            Built::Memory(dictionary) => dictionary,
            Built::UnnamedFile(_) => {
                return Err(Error::logical("a dictionary with a file was loaded into another"));
            }
        };
        // Where nothing changed, the file is up to date.
        let is_previous = previous.is_some_and(|previous| Arc::ptr_eq(previous, &dictionary));
        if is_previous || dictionary.changes().is_some() || !self.is_needed(host) {
            return Ok((dictionary, None));
        }
        Ok(match self.write(host, definition, &dictionary, &stamp) {
            Ok(kept) => (kept, None),
            Err(error) => {
                let error = error.within("the dictionary was loaded, and could not be kept in its file");
                (dictionary, Some(error))
            }
        })
    }

    fn write(
        &self,
        host: &dyn LoadHost,
        definition: &Definition,
        dictionary: &Arc<dyn Dictionary>,
        stamp: &[u8],
    ) -> Result<Arc<dyn Dictionary>> {
        let (storage, path) = (host.storage().as_ref(), self.path(host));
        publish_empty_dir(storage, &host.store_dir(self.uuid))?;
        save_image(dictionary.as_ref(), &self.statement, stamp, storage, &path)?;
        let (kept, _) = self.open_at(host, definition, &path)?;
        kept.check()?;
        Ok(kept)
    }

    /// Whether the dictionary still exists: one that was dropped during its load leaves no file.
    fn is_needed(&self, host: &dyn LoadHost) -> bool {
        host.has_dictionary(self.uuid)
    }

    /// Removes the file, if there is one.
    pub(super) fn remove(&self, host: &dyn LoadHost) {
        // A file that cannot be removed is refused again at the next start.
        let _ = host.storage().remove_file(&self.path(host));
    }
}

/// Why the file of a dictionary was removed.
pub(super) fn thrown_away(error: &Error) -> Error {
    error.clone().within("the file of the dictionary was thrown away, and it is loaded anew")
}

fn corrupt_stamp() -> Error {
    Error::new(ErrorCode::CorruptedData, "the file of the dictionary does not say what it was loaded from")
}

fn stamp(loaded_us: u64, origin: &Origin) -> Vec<u8> {
    let mut stamp = loaded_us.to_le_bytes().to_vec();
    stamp.push(u8::from(origin.watermark.is_some()));
    stamp.extend_from_slice(&origin.watermark.unwrap_or_default().to_le_bytes());
    stamp.push(u8::from(origin.revision.is_some()));
    stamp.extend_from_slice(origin.revision.as_deref().unwrap_or_default().as_bytes());
    stamp
}

fn read_stamp(stamp: &[u8]) -> Option<(u64, Origin)> {
    let (loaded_us, rest) = stamp.split_first_chunk()?;
    let (&has_watermark, rest) = rest.split_first()?;
    let (watermark, rest) = rest.split_first_chunk()?;
    let (&has_revision, rest) = rest.split_first()?;
    let revision = String::from_utf8(rest.to_vec()).ok()?;
    let origin = Origin {
        revision: (has_revision != 0).then_some(revision),
        watermark: (has_watermark != 0).then_some(i64::from_le_bytes(*watermark)),
    };
    Some((u64::from_le_bytes(*loaded_us), origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_says_what_the_next_load_must_know() {
        for revision in [None, Some(String::new()), Some("7".to_owned())] {
            for watermark in [None, Some(-5), Some(0)] {
                let origin = Origin { revision: revision.clone(), watermark };
                let (loaded_us, read) = read_stamp(&stamp(77, &origin)).expect("a whole stamp");
                assert_eq!((loaded_us, read.revision, read.watermark), (77, revision.clone(), watermark));
            }
        }
        assert!(read_stamp(&stamp(77, &Origin::default())[..17]).is_none());
    }
}
