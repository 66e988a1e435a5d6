//! A loaded dictionary as one file, from which it answers without being read first.
//!
//! [`save`] writes the file, [`open`] maps it and makes a dictionary over its bytes: pages come in as lookups
//! touch them.
//!
//! # Layout
//!
//! ```text
//! sections   the bytes of tables and columns, each at a multiple of 128; zeroes between them
//! numbers    u32 length, definition; u32 length, stamp; u32 length, shape;
//!            u32 count, sections as offset u64, bytes u64; u32 count, CRC-32C of each 64 KiB of sections
//! trailer    offset of numbers u64 | their bytes u64 | their CRC-32C | version u32
//!            CRC-32C of the trailer up to here | magic "BDIC"
//! ```
//! All integers are little-endian. The definition is the text that the dictionary was made by, the stamp is
//! the caller's, the shape is what the layout and the columns say of themselves, in the order of [`save`].
//!
//! # Invariants
//!
//! - **Summed**: every byte is under a checksum. Those of the numbers and the trailer are compared by
//!   [`open`], those of a section's block before the block is first used.
//! - **Of one definition**: a file of another one, or of another version, is no file at all.

mod backing;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use backing::Backing;
pub use reader::open;
pub(crate) use reader::{ImageReader, open_parts, open_unnamed, open_unpublished};
pub use writer::{ImageWriter, save};
pub(crate) use writer::{Piece, Written, write_parts};

/// The version that is written, and the only one that is read: a dictionary can be loaded again.
const VERSION: u32 = 11;
const MAGIC: [u8; 4] = *b"BDIC";
const TRAILER_BYTES: usize = 32;
/// A line of a table is one or two lines of the processor's cache.
const SECTION_ALIGNMENT: u64 = 128;
