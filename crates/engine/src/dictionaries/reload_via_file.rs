//! A reload of a large dictionary by way of a file, so that there are never two versions in memory.
//!
//! The new version is loaded shard by shard into a file of `tmp/`, which has no name once it is whole, and answers
//! from its pages. The old version is freed, and then the new one is read into memory.
//!
//! A full disk does not fail the reload. The load starts again in memory, next to the old version, and
//! `last_exception` says why.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{Dictionary, DictionarySpec, ImagePlace, LoadBounds, LoadedImage, RowForm, load_image};

use super::built::{Built, spill_dir};
use super::definition::Definition;
use super::host::LoadHost;

/// A version of this size may be in memory twice: its load is quick, and no machine is short of so little.
pub(super) const LARGE_BYTES: u64 = 64 << 20;
/// Bytes on disk for rows and the new version, per byte of the old version in memory: more than any layout was seen
/// to take.
const DISK_RATIO: u64 = 3;

/// Whether the successor of `current` is loaded like this.
pub(super) fn applies(definition: &Definition, current: &Arc<dyn Dictionary>) -> bool {
    let is_storable = definition.spec.layout.kind.is_storable();
    !definition.settings.persist && is_storable && current.stats().bytes_allocated > LARGE_BYTES
}

/// Loads the successor of `current` from rows of this form.
pub(super) fn load(
    host: &dyn LoadHost,
    spec: &DictionarySpec,
    current: &Arc<dyn Dictionary>,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    form: RowForm,
) -> Result<Built> {
    let (storage, dir) = (host.storage(), host.temporary_dir());
    let needed = current.stats().bytes_allocated.saturating_mul(DISK_RATIO);
    if let Some(left) = storage.space_left(&dir)?.filter(|&left| left < needed) {
        let what = format!("{} has {left} bytes left, a load may need {needed}", dir.display());
        return Err(Error::new(ErrorCode::NotEnoughSpace, what));
    }
    let (spill_dir, path) = (spill_dir(host), spill_dir(host).with_extension("bin"));
    let place = ImagePlace { storage, path: &path, definition: "", spill_dir: &spill_dir };
    Ok(match load_image(spec.clone(), blocks, form, &place, LoadBounds::default())? {
        LoadedImage::InMemory(dictionary) => Built::Memory(dictionary),
        LoadedImage::InFile(pending) => Built::UnnamedFile(Box::new(pending.open_unnamed()?)),
    })
}

/// Why there were two versions in memory.
pub(super) fn fallback_reason(error: &Error) -> Error {
    error.clone().within(
        "the dictionary was reloaded in memory, next to its old version, because a file was not possible",
    )
}
