//! The container of a segment: named components, each of numbers and sections of bytes, with checksums.
//!
//! # Layout
//!
//! ```text
//! header     64 bytes: magic "BSEG" | version u32 | required features u64 | optional features u64
//!            segment id u64 | zeroes | CRC-32C of the header up to here
//! sections   the bytes of components, each at a multiple of 64; zeroes between them
//! directory  rows u64 | tombstones u64 | u32 count, components | u32 count, CRC-32C of each 64 KiB of what is before
//!            component: name | encoding | reason | raw bytes u64 | u32 count, numbers u64
//!                       u32 count, sections as offset u64, bytes u64; texts are u32 length, UTF-8
//! footer     32 bytes: offset of the directory u64 | its bytes u64 | its CRC-32C | zeroes u32
//!            CRC-32C of the footer up to here | magic "BSEG"
//! ```
//! All integers are little-endian.
//!
//! # Invariants
//!
//! - **Checksums**: every byte has one. Opening compares those of header, directory and footer; those of a section's
//!   pages are compared before the page is first used.
//! - **Features**: a file that needs a feature which this build does not know is refused. Optional features are
//!   components that a reader may ignore.

mod access;
mod bytes;
mod component;
mod contents;
mod description;
mod directory;
mod format;
mod pages;
mod reader;
mod restore;
mod spool;
mod writer;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use access::Access;
pub use bytes::Bytes;
pub use component::{ComponentReader, PendingComponent};
pub use description::{ComponentDescription, SegmentDescription};
pub use directory::Component;
pub use format::Features;
pub use reader::SegmentFile;
pub use restore::restore_checksums;
pub use spool::{Spool, SpoolPlace, SpoolReader};
pub use writer::SegmentWriter;
