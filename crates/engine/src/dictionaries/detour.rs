//! A reload of a large dictionary by way of a file, so that there are never two versions in memory.
//!
//! The new version is loaded shard by shard into a file of `tmp/`, which has no name once it is whole, and answers
//! from its pages; the old version goes, and the new one comes into memory, in place, while it answers.
//!
//! What hinders the detour (no space on the disk) is no reason not to load: the load begins again and takes
//! the memory of both, and `last_exception` says why.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::region::Incoming;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{Dictionary, DictionarySpec, ImagePlace, LoadBounds, LoadedImage, RowForm, load_image};

use super::definition::Definition;
use super::load::piles_dir;
use crate::Engine;

/// A version of so many bytes may be there twice: it is a quick load, and no machine is short of them.
pub(super) const LARGE_BYTES: u64 = 64 << 20;
/// Rows and the new version on disk, over the old version in memory: more than any layout was seen to take.
const DISK_RATIO: u64 = 3;

/// Whether the next version of `current` is loaded like this.
pub(super) fn suits(definition: &Definition, current: &Arc<dyn Dictionary>) -> bool {
    let is_in_files = definition.spec.layout.kind.is_storable();
    !definition.settings.persist && is_in_files && current.stats().bytes_allocated > LARGE_BYTES
}

/// Loads rows of this form into a version that answers, and says what brings it into memory, unless it is there.
pub(super) fn take(
    engine: &Engine,
    spec: &DictionarySpec,
    current: &Arc<dyn Dictionary>,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    form: RowForm,
) -> Result<(Arc<dyn Dictionary>, Option<Incoming>)> {
    let (storage, dir) = (&engine.opener().storage, engine.data_dir().join("tmp"));
    let needed = current.stats().bytes_allocated.saturating_mul(DISK_RATIO);
    if let Some(left) = storage.space_left(&dir)?.filter(|&left| left < needed) {
        let what = format!("{} has {left} bytes left, a load may need {needed}", dir.display());
        return Err(Error::new(ErrorCode::NotEnoughSpace, what));
    }
    let (piles, path) = (piles_dir(engine), piles_dir(engine).with_extension("bin"));
    let place = ImagePlace { storage, path: &path, definition: "", piles: &piles };
    match load_image(spec.clone(), blocks, form, &place, LoadBounds::default())? {
        LoadedImage::InMemory(dictionary) => Ok((dictionary, None)),
        LoadedImage::InFile(pending) => pending.open_unnamed(),
    }
}

/// Why there were two versions in memory.
pub(super) fn not_taken(error: &Error) -> Error {
    error.clone().within("the dictionary was reloaded in memory, beside its old version, for want of a file")
}
