//! A loaded dictionary as one file, from which it answers without being read first.
//!
//! [`save()`] writes the file, [`open()`] maps it and makes a dictionary over its bytes: the system reads pages when
//! lookups touch them.
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
//! All integers are little-endian. The definition is the statement of the dictionary, the stamp is the caller's, the
//! shape is the numbers of the layout and the columns, in the order of [`Storable::save`].
//!
//! # Invariants
//!
//! - **Checksums**: every byte has one. [`open()`] compares those of the numbers and the trailer. Those of a
//!   section's block are compared before the block is first used.
//! - **One definition**: a file of another definition or version is refused.

mod backing;
mod description;
mod format;
mod open;
mod reader;
mod save;
mod storable;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use backing::Backing;
pub use description::{DescribedImage, ImageDescription};
pub(crate) use open::open_unpublished;
pub use open::{UnnamedVersion, open};
pub(crate) use reader::{ImageReader, open_parts};
pub use save::save;
pub use storable::Storable;
pub use writer::ImageWriter;
pub(crate) use writer::{Piece, Written, write_parts};
