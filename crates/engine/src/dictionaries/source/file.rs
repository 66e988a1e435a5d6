//! The source FILE: a file of any input format, under the rules of the function `file`.

use std::fs::File;
use std::path::Path;
use std::time::UNIX_EPOCH;

use basalt_base::{Error, FileAction, Result};

use super::formatted::{checked_format, read_rows};
use super::parameters::Parameters;
use super::{Blocks, LoadRequest, RowRange, RowSource};

pub(super) struct FileSource {
    path: String,
    format: String,
}

impl FileSource {
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<FileSource> {
        let path = parameters.required("path")?;
        let format = checked_format(parameters.required("format")?)?;
        parameters.finish(&["path", "format"])?;
        Ok(FileSource { path, format })
    }
}

impl RowSource for FileSource {
    fn describe(&self, _database: &str) -> String {
        format!("File: {} {}", self.path, self.format)
    }

    fn rows(&self, load: &LoadRequest, _range: RowRange) -> Result<Blocks> {
        let path = load.host.user_file(&self.path)?;
        let file = File::open(&path).map_err(|error| Error::io(FileAction::Open, &path, &error))?;
        read_rows(load, &self.format, Box::new(file), &path.display().to_string())
    }

    fn revision(&self, load: &LoadRequest) -> Result<Option<String>> {
        revision_of(&load.host.user_file(&self.path)?)
    }
}

/// The length and the modification time of a file: if both are the same, the file is.
pub(super) fn revision_of(path: &Path) -> Result<Option<String>> {
    let found = path.metadata().map_err(|error| Error::io(FileAction::Inspect, path, &error))?;
    let changed = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(changed.map(|changed| format!("{} {}", found.len(), changed.as_nanos())))
}
