//! Finds out what a path is, and has it described and verified.

use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::{RandomAccess, RealStorage, Storage};
use basalt_base::{Error, FileAction, Result, bail};
use basalt_dict::DescribedImage;
use basalt_parts::InspectedPart;

use super::report::Inspection;
use super::{dictionary, part, segment};

/// The ending of the names of segments.
const SEGMENT_EXTENSION: &str = "seg";
/// Bytes at both ends of a file that say what it is.
const MAGIC_BYTES: usize = 4;
const SEGMENT_MAGIC: &[u8] = b"BSEG";

/// Describes the file or the directory of a part at `path`, and compares its checksums. Damage is no error here; an
/// error is a path that is neither of the known kinds, cannot be read, or has a newer format.
pub fn inspect(path: &Path) -> Result<Inspection> {
    let storage: Arc<dyn Storage> = Arc::new(RealStorage);
    if path.is_dir() {
        return match InspectedPart::is_part(storage.as_ref(), path)? {
            true => part::inspect(storage, path),
            false => bail!(
                BadArguments,
                "{} is no data part: it has no file `part.meta`; give the directory of one part, a segment \
                 (`*.seg`) or the file of a dictionary (`dictionary.bin`)",
                path.display()
            ),
        };
    }
    let (first, last) = ends(storage.as_ref(), path)?;
    let is_segment = first == SEGMENT_MAGIC
        || last == SEGMENT_MAGIC
        || path.extension().is_some_and(|extension| extension == SEGMENT_EXTENSION);
    if is_segment {
        return segment::inspect(storage.as_ref(), path);
    }
    if DescribedImage::is_end_of_image(&last) || path.ends_with(dictionary::FILE_NAME) {
        return dictionary::inspect(storage.as_ref(), path);
    }
    bail!(
        BadArguments,
        "{} is no segment (it does not begin with `BSEG`), no file of a dictionary (it does not end with `BDIC`) and \
         no directory of a data part",
        path.display()
    )
}

/// The first and the last bytes of the file; fewer if it has fewer.
fn ends(storage: &dyn Storage, path: &Path) -> Result<(Vec<u8>, Vec<u8>)> {
    let file = storage.open(path)?;
    let bytes = file.size().min(MAGIC_BYTES as u64);
    let read = |offset| read(file.as_ref(), path, offset, bytes as usize);
    Ok((read(0)?, read(file.size() - bytes)?))
}

fn read(file: &dyn RandomAccess, path: &Path, offset: u64, bytes: usize) -> Result<Vec<u8>> {
    let mut found = vec![0; bytes];
    file.read_at(offset, &mut found).map_err(|error| Error::io(FileAction::Read, path, &error))?;
    Ok(found)
}
