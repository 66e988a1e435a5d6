//! The two forms of a part on disk.

/// How a part stores its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartType {
    /// Each in its own file.
    Wide,
    /// All in one file.
    Compact,
}

impl PartType {
    /// The name in `system.parts`.
    pub fn name(self) -> &'static str {
        match self {
            PartType::Wide => "Wide",
            PartType::Compact => "Compact",
        }
    }
}
