//! The file that an INTO OUTFILE clause names, which the caller writes.

use basalt_base::{Result, bail};
use basalt_formats::compression::Compression;
use basalt_formats::format_of_file_name;
use basalt_sql::ast::IntoOutfile;

/// The format of a file whose name does not mean one, as in ClickHouse.
const DEFAULT_FORMAT: &str = "TabSeparated";

/// Where to write the bytes of an answer, and how to compress them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outfile {
    pub path: String,
    /// The compression and its level.
    pub compression: Option<(Compression, u32)>,
}

impl Outfile {
    /// The file of the clause. Its name means a compression if there is no COMPRESSION.
    pub(crate) fn of_clause(clause: &IntoOutfile) -> Result<Outfile> {
        let IntoOutfile { path, compression, level } = clause;
        let compression = Compression::of_clause(compression.as_deref().unwrap_or("auto"), path)?;
        let Some(compression) = compression else {
            return Ok(Outfile { path: path.clone(), compression: None });
        };
        let level = level.unwrap_or_else(|| Compression::DEFAULT_LEVEL.into());
        match u32::try_from(level) {
            Ok(level) if (1..=compression.max_level()).contains(&level) => {
                Ok(Outfile { path: path.clone(), compression: Some((compression, level)) })
            }
            _ => {
                let (name, max) = (compression.name(), compression.max_level());
                bail!(BadArguments, "INTO OUTFILE: level {level} of {name} does not exist; use 1 to {max}")
            }
        }
    }

    /// The format that the name of the file means.
    pub(crate) fn format(&self) -> Result<String> {
        Ok(format_of_file_name(&self.path)?.unwrap_or(DEFAULT_FORMAT).to_owned())
    }
}
