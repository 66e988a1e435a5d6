//! The file of a dictionary, described and verified.

use std::path::Path;

use basalt_base::Result;
use basalt_base::fs::Storage;
use basalt_dict::DescribedImage;

use super::report::{Heading, Inspection, Report};

/// The name of the file in the directory of a dictionary.
pub(super) const FILE_NAME: &str = "dictionary.bin";
const ADVICE: &str = "what to do: nothing; the dictionary is loaded from its source again when it is next used, or \
                      with SYSTEM RELOAD DICTIONARY";

pub(super) fn inspect(storage: &dyn Storage, path: &Path) -> Result<Inspection> {
    let mut report = Report::default();
    report.line(&format!("{}: a loaded dictionary", path.display()));
    let image = match DescribedImage::open(storage, path) {
        Ok(image) => image,
        Err(error) => return report.refused(error, ADVICE),
    };
    let about = image.description();
    report.facts(&[
        ("version", about.version.to_string()),
        ("bytes", about.bytes.to_string()),
        ("definition", about.definition.clone()),
    ]);
    let headings = [Heading::Figure("section"), Heading::Figure("offset"), Heading::Figure("bytes")];
    let rows = about.sections.iter().enumerate();
    let rows: Vec<_> = rows
        .map(|(index, (offset, bytes))| vec![index.to_string(), offset.to_string(), bytes.to_string()])
        .collect();
    report.table("sections", &headings, &rows);
    match image.check() {
        Ok(()) => Ok(report.intact(&format!("all {} blocks verified", about.blocks))),
        Err(error) => report.refused(error, ADVICE),
    }
}
