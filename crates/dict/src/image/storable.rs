//! Objects that can be written to a dictionary's file.

use basalt_base::Result;

use super::writer::ImageWriter;

/// A dictionary that was loaded whole.
pub trait Storable {
    /// Writes all that it holds.
    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()>;
}
