//! Errors of a segment file: the path, the place and what is wrong there.

use std::path::{Path, PathBuf};

use basalt_base::{Error, ErrorCode};

/// Bytes of a segment file that no version of this code wrote. [`Corrupt::at`] adds the path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    #[error("it has {bytes} bytes, a segment has at least {least}")]
    Short { bytes: u64, least: u64 },
    #[error("its {what} has no magic number of a segment")]
    Magic { what: &'static str },
    #[error("its format version is {found}, this build reads {newest} and older")]
    Version { found: u32, newest: u32 },
    #[error("it needs the features {bits:#x}, which this build does not know")]
    Features { bits: u64 },
    #[error("the checksum of its {what} does not match")]
    Checksum { what: &'static str },
    #[error("its directory ends inside an entry")]
    Truncated,
    #[error("component `{component}` is missing")]
    Missing { component: String },
    #[error("component `{component}`: {what}")]
    Component { component: String, what: String },
}

impl Corrupt {
    /// The error for the file at `path`.
    pub fn at(self, path: &Path) -> Error {
        let code = match self {
            Corrupt::Checksum { .. } => ErrorCode::ChecksumDoesntMatch,
            Corrupt::Version { .. } | Corrupt::Features { .. } => ErrorCode::NotImplemented,
            _ => ErrorCode::CorruptedData,
        };
        Error::new(code, format!("segment {} cannot be used: {self}", path.display()))
    }
}

/// A component of a file, named in errors.
#[derive(Clone, Debug)]
pub struct Place {
    path: PathBuf,
    component: String,
}

impl Place {
    pub fn new(path: &Path, component: &str) -> Place {
        Place { path: path.to_owned(), component: component.to_owned() }
    }

    /// The error for a component whose bytes mean nothing.
    pub fn corrupt(&self, what: impl Into<String>) -> Error {
        Corrupt::Component { component: self.component.clone(), what: what.into() }.at(&self.path)
    }
}
