//! The file of a dictionary without its definition, in words and figures: for people.

use std::path::Path;

use basalt_base::Result;
use basalt_base::fs::Storage;
use basalt_base::region::{BlockChecks, CHECK_BLOCK_BYTES, Region};

use super::format::{MAGIC, VERSION};
use super::reader::{Contents, contents};

/// What the file of a dictionary says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageDescription {
    /// The version of the format.
    pub version: u32,
    /// The statement of the dictionary, without its name.
    pub definition: String,
    /// The bytes of the file.
    pub bytes: u64,
    /// Offset and bytes of each section.
    pub sections: Vec<(u64, u64)>,
    /// Blocks of the sections, each with a checksum.
    pub blocks: usize,
}

/// A file of a dictionary, opened to look at it.
pub struct DescribedImage {
    region: Region,
    description: ImageDescription,
}

impl DescribedImage {
    /// Opens the file at `path`. An error: it has no numbers that match their checksum, or another version.
    pub fn open(storage: &dyn Storage, path: &Path) -> Result<DescribedImage> {
        let name = path.to_string_lossy();
        let region = storage.map(path)?;
        let Contents { definition, sections, sums, numbers, .. } = contents(&region, &name)?;
        let description = ImageDescription {
            version: VERSION,
            definition: String::from_utf8_lossy(definition).into_owned(),
            bytes: region.len() as u64,
            sections: sections.iter().map(|range| (range.start as u64, range.len() as u64)).collect(),
            blocks: numbers.div_ceil(CHECK_BLOCK_BYTES),
        };
        let checks = BlockChecks::new(name.into_owned(), numbers, sums);
        Ok(DescribedImage { region: region.with_checks(checks), description })
    }

    /// Whether a file that ends with these bytes is a dictionary's, intact or not.
    pub fn is_end_of_image(end: &[u8]) -> bool {
        end.ends_with(&MAGIC)
    }

    pub fn description(&self) -> &ImageDescription {
        &self.description
    }

    /// Compares all checksums; the error names the first damaged block.
    pub fn check(&self) -> Result<()> {
        self.region.check_all()
    }
}
