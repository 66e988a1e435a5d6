//! Native: blocks of columns in binary form, as ClickHouse's servers and drivers exchange them.
//!
//! # Layout of a block
//!
//! A revision of the protocol above 0 adds the [`block_info`]. Then come, as varints, the number of columns and of
//! rows, and for each column its name, the name of its type, from some revision on a byte that tells how it is
//! serialized, and its values if there are rows. Numbers are little-endian.
//!
//! | type | values of a column |
//! |---|---|
//! | fixed width | the values, see `binary/fixed.rs` |
//! | String | each after its length as a varint |
//! | Nullable(T) | a byte a row, 1 for NULL; then T, with any value under NULL |
//! | Array(T) | for each row the end of its elements as u64; then T |
//! | Map(K, V) | as Array(Tuple(K, V)) |
//! | Tuple | the elements, column by column |
//! | LowCardinality(T) | see `low_cardinality.rs` |
//! | Nothing, Tuple() | a character `0` a row |
//!
//! In front of the values of a column stand the versions of all LowCardinality in its type.

mod block_info;
mod column_read;
mod column_write;
mod decoder;
mod low_cardinality;
mod reader;
mod revision;
mod source;
mod sparse;
#[cfg(test)]
mod tests;
mod writer;

pub use decoder::{BlockDecoder, BlockLimits};
pub use revision::REVISION_MAX;
pub use writer::{write_block, write_empty_block};

pub use reader::open_blocks;

pub(crate) use reader::{columns_of, open};
pub(crate) use writer::NativeWriter;
