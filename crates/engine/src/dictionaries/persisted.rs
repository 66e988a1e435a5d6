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

use super::definition::Definition;
use super::load::{Load, Loaded, piles_dir};
use super::state::Origin;
use crate::Engine;

const FILE_NAME: &str = "dictionary.bin";

/// Where a dictionary is kept between two runs.
pub(super) struct PersistedFile {
    uuid: Uuid,
    /// What the file must have been written for.
    statement: String,
}

impl PersistedFile {
    /// For the dictionary that `create` makes.
    pub(super) fn new(uuid: Uuid, create: &ast::CreateDictionary) -> PersistedFile {
        // Neither says what is in it. Its database does: tables of the source may be looked for there.
        let name = ObjectName { name: String::new(), ..create.name.clone() };
        let create = ast::CreateDictionary { name, comment: None, ..create.clone() };
        PersistedFile { uuid, statement: ast::Statement::CreateDictionary(Box::new(create)).to_string() }
    }

    fn path(&self, engine: &Engine) -> PathBuf {
        engine.catalog().store_dir(self.uuid).join(FILE_NAME)
    }

    /// The dictionary of an earlier run, and when it was loaded; `None` if there is no file. One that
    /// cannot be used is removed.
    pub(super) fn open(&self, engine: &Engine, definition: &Definition) -> Result<Option<(Load, u64)>> {
        let (storage, path) = (engine.opener().storage.as_ref(), self.path(engine));
        if !storage.exists(&path)? {
            return Ok(None);
        }
        let opened = self.open_at(engine, definition, &path);
        let opened = opened.and_then(|(dictionary, stamp)| {
            let (loaded_us, origin) = read_stamp(&stamp).ok_or_else(corrupt_stamp)?;
            Ok(Some((Load { dictionary, origin, incoming: None }, loaded_us)))
        });
        opened.map_err(|error| {
            self.remove(engine);
            thrown_away(&error)
        })
    }

    /// The dictionary in the file at `path`, and its stamp.
    fn open_at(
        &self,
        engine: &Engine,
        definition: &Definition,
        path: &Path,
    ) -> Result<(Arc<dyn Dictionary>, Vec<u8>)> {
        open_image(definition.spec.clone(), engine.opener().storage.as_ref(), path, &self.statement)
    }

    /// Loads rows of this form: into the file, which has no name yet, if they are many.
    pub(super) fn load(
        &self,
        engine: &Engine,
        spec: &DictionarySpec,
        blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
        form: RowForm,
    ) -> Result<LoadedImage> {
        let (storage, path, piles) = (&engine.opener().storage, self.path(engine), piles_dir(engine));
        if !self.is_needed(engine) {
            return build_rows(spec, form, blocks).map(LoadedImage::InMemory);
        }
        publish_empty_dir(storage.as_ref(), &engine.catalog().store_dir(self.uuid))?;
        let place = ImagePlace { storage, path: &path, definition: &self.statement, piles: &piles };
        load_image(spec.clone(), blocks, form, &place, LoadBounds::default())
    }

    /// Writes what was loaded, unless it is written already, and gives the same back from the file: its pages
    /// can leave memory. Of a dictionary that joins a loaded version and later changes, the file keeps the
    /// loaded version.
    pub(super) fn save(
        &self,
        engine: &Engine,
        definition: &Definition,
        loaded: Loaded,
        previous: Option<&Arc<dyn Dictionary>>,
    ) -> Result<(Load, Option<Error>)> {
        let Loaded { image, origin, .. } = loaded;
        let stamp = stamp(engine.clock().now_us(), &origin);
        match image {
            LoadedImage::InFile(pending) => {
                let dictionary = pending.publish(&stamp)?;
                dictionary.check()?;
                Ok((Load { dictionary, origin, incoming: None }, None))
            }
            LoadedImage::InMemory(dictionary) => {
                // Where nothing changed, the file is what it should be.
                let is_old = previous.is_some_and(|previous| Arc::ptr_eq(previous, &dictionary));
                if is_old || dictionary.changes().is_some() || !self.is_needed(engine) {
                    return Ok((Load { dictionary, origin, incoming: None }, None));
                }
                let (dictionary, failure) = match self.write(engine, definition, &dictionary, &stamp) {
                    Ok(kept) => (kept, None),
                    Err(error) => (dictionary, Some(error)),
                };
                let failure = failure.map(|error| {
                    error.within("the dictionary was loaded, and could not be kept in its file")
                });
                Ok((Load { dictionary, origin, incoming: None }, failure))
            }
        }
    }

    fn write(
        &self,
        engine: &Engine,
        definition: &Definition,
        dictionary: &Arc<dyn Dictionary>,
        stamp: &[u8],
    ) -> Result<Arc<dyn Dictionary>> {
        let (storage, path) = (engine.opener().storage.as_ref(), self.path(engine));
        publish_empty_dir(storage, &engine.catalog().store_dir(self.uuid))?;
        save_image(dictionary.as_ref(), &self.statement, stamp, storage, &path)?;
        let (kept, _) = self.open_at(engine, definition, &path)?;
        kept.check()?;
        Ok(kept)
    }

    /// A dictionary that was dropped meanwhile leaves nothing behind.
    fn is_needed(&self, engine: &Engine) -> bool {
        engine.catalog().all_objects().iter().any(|(_, _, object)| object.uuid() == self.uuid)
    }

    /// Removes the file, if there is one.
    pub(super) fn remove(&self, engine: &Engine) {
        // What cannot be removed is found wanting again at the next start.
        let _ = engine.opener().storage.remove_file(&self.path(engine));
    }
}

/// Why the file of a dictionary is gone.
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
