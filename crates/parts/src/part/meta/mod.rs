//! `part.meta`: what a part is made of. A part whose metadata cannot be read is set aside.
//!
//! # Layout
//!
//! Integers are little-endian; *bytes* are a length u32 and that many bytes.
//!
//! ```text
//! magic "BSLTPRT1"
//! format version u32
//! rows u64, rows of a granule u32, made at u64 (microseconds since 1970)
//! primary index: file bytes u64, key columns u32, the name of each as bytes
//! columns u32, then of each:
//!     name, type, file name as bytes      the type as SQL text
//!     codec chain                         16 bytes, see `codec::chain`
//!     file bytes, compressed bytes, decoded bytes, bytes of the marks: u64 each
//!     checksum of the file's footer u32   the file is this one and no other
//!     NULLs u64
//!     bounds as bytes                     sections of an array of 2 values; empty for none
//!     tagged fields of the column         since version 2:
//!         OFFSET     where the column begins in the data file u64; only in a compact part
//!         ZONES      where its zone map is, see `index::zone_file`
//! tagged fields of the part               since version 2:
//!     DATA_FILE      of a compact part: bytes of `data.bin`, where in it the zone maps begin and
//!                    where the primary index does: u64 each
//!     DELETED        rows that `deleted.rows` masks u64; none without it
//!     NAMES          up to which change of the table's columns their names are, see `history` u64; 0 without
//!     MADE_BY        version of the build as bytes
//!     PARTITION      the value of the partition key: a count u32, each element as bytes: sections
//!                    of an array of 1 value
//!     VALUE_BYTES    bytes of the values in memory u64: what decides how many rows a granule gets
//!     ZONES_FILE     bytes of `zones.idx` u64
//!     TTL            when rows expire: a count u32, then of each rule as `ttl::bounds` has it
//!     SKIP_INDEXES   a count u32, then of each: name, what it is of, signature as bytes, file bytes u64, and where it
//!                    begins in the data file u64 (2^64 - 1: it has a file of its own)
//! crc32c u32                              of all that is before it
//! ```
//!
//! Tagged fields are drawn in [`fields`](crate::fields). What is added to the metadata is a tag here, with
//! a default for parts that were written without it.
//!
//! - [`part`]: the file, and what it says of the part as a whole.
//! - [`column`], [`skip_index`]: what it says of a column and of a skip index.
//! - [`values`]: bounds and the value of the partition key, which decode only with their types.

mod column;
mod part;
mod skip_index;
mod values;

pub(crate) use column::ColumnMeta;
pub(crate) use part::{DataFile, META_BYTES_MAX, META_FILE, PartMeta};
pub(crate) use skip_index::SkipIndexMeta;
pub(crate) use values::{decode_bounds, decode_partition, encode_bounds, encode_partition};
