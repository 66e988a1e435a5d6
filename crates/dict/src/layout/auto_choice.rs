//! The choices of AUTO, by name and in a file.

use basalt_base::Result;

use crate::image::{ImageReader, ImageWriter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutoChoice {
    Flat,
    Hashed,
    CompactHashed,
}

impl AutoChoice {
    /// The order of the choices: a file stores the position.
    const ALL: [AutoChoice; 3] = [AutoChoice::Flat, AutoChoice::Hashed, AutoChoice::CompactHashed];

    /// The layout's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            AutoChoice::Flat => "AUTO_FLAT",
            AutoChoice::Hashed => "AUTO_HASHED",
            AutoChoice::CompactHashed => "AUTO_COMPACT_HASHED",
        }
    }

    pub(crate) fn save(self, image: &mut ImageWriter<'_>) {
        image.number(self as u64);
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<AutoChoice> {
        Ok(AutoChoice::ALL[image.number_below(AutoChoice::ALL.len() as u64)? as usize])
    }
}
