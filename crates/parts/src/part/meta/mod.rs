//! `part.meta`: the metadata of a part. A part with unreadable metadata is set aside.
//!
//! # Layout
//!
//! Integers are little-endian; *bytes* are a length u32 and the bytes.
//!
//! ```text
//! magic "BSLTPRT1"
//! format version u32
//! rows u64, rows of a granule u32, made at u64 (microseconds since 1970)
//! primary index: file bytes u64, key columns u32, the name of each as bytes
//! columns u32, then for each:
//!     name, type, file name as bytes      the type as SQL text
//!     codec chain                         16 bytes, see `codec::chain`
//!     file bytes, compressed bytes, decoded bytes, bytes of the marks: u64 each
//!     checksum of the file's footer u32   identifies the file
//!     NULLs u64
//!     bounds as bytes                     sections of an array of 2 values; empty for none
//!     tagged fields of the column         since version 2:
//!         OFFSET     offset of the column in the data file u64; only in a compact part
//!         ZONES      place of its zone map, see `index::zone_file`
//! tagged fields of the part               since version 2:
//!     DATA_FILE      only in a compact part: bytes of `data.bin`, and the offsets of the zone maps and of
//!                    the primary index in it: u64 each
//!     DELETED        rows that `deleted.rows` masks u64; default 0
//!     NAMES          the last change of column names before the part was written u64, see `history`; default 0
//!     MADE_BY        version of the build as bytes
//!     PARTITION      the value of the partition key: a count u32, each element as bytes: sections
//!                    of an array of 1 value
//!     VALUE_BYTES    bytes of the values in memory u64, which decide the rows of a granule
//!     ZONES_FILE     bytes of `zones.idx` u64
//!     TTL            when rows expire: a count u32, then each rule as in `ttl::bounds`
//!     SKIP_INDEXES   a count u32, then for each: name, elements, signature as bytes, file bytes u64, and its
//!                    offset in the data file u64 (2^64 - 1: it has a file of its own)
//! crc32c u32                              of everything before it
//! ```
//!
//! Tagged fields are described in [`fields`](crate::fields). New metadata is a new tag, with a default for parts
//! that were written without it.
//!
//! - [`part`]: the file, and the metadata of the whole part.
//! - [`column`], [`skip_index`]: the metadata of a column and of a skip index.
//! - [`values`]: bounds and the value of the partition key, which can be decoded only with their types.

mod column;
mod part;
mod skip_index;
mod values;

pub(crate) use column::ColumnMeta;
pub(crate) use part::{DataFile, META_BYTES_MAX, META_FILE, PartMeta};
pub(crate) use skip_index::SkipIndexMeta;
pub(crate) use values::{decode_bounds, decode_partition, encode_bounds, encode_partition};
