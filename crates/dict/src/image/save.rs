//! Writes the file of a dictionary.

use std::path::Path;

use basalt_base::fs::{PendingFile, Storage, WritableFile};
use basalt_base::{Error, Result};

use super::writer::write_image;
use crate::dictionary::Dictionary;

/// Writes `dictionary` to `path`. It can be opened with the same `definition`, and gives back `stamp`. After a
/// failure or a crash, the old file is still there. A dictionary that was not loaded whole has no file:
/// `NOT_IMPLEMENTED`.
pub fn save(
    dictionary: &dyn Dictionary,
    definition: &str,
    stamp: &[u8],
    storage: &dyn Storage,
    path: &Path,
) -> Result<()> {
    let Some(storable) = dictionary.storable() else {
        let layout = dictionary.layout();
        return Err(Error::not_implemented(format!("a file of a dictionary of layout {layout}")));
    };
    let write =
        |out: &mut dyn WritableFile| write_image(out, definition, stamp, |image| storable.save(image));
    PendingFile::write_with(storage, path, write)?.publish(storage)
}
