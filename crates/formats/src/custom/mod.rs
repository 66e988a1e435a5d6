//! CustomSeparated: fields in a style and between delimiters that the settings choose.

mod field;
mod read;
mod write;

pub(crate) use self::read::open;
pub(crate) use self::write::CustomWriter;
