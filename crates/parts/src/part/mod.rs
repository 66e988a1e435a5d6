//! One part: a directory of column files, its metadata and its primary index.
//!
//! - [`meta`]: `part.meta`, what the part is made of.
//! - [`writer`]: sorted rows to a pending part.
//! - [`stored`]: a published part on disk, whatever the table looks like today.
//! - [`view`]: a stored part seen as rows of the table; pruning and reading.
//! - [`reader`]: a part column by column, by way of the cache of decoded blocks.
//! - [`scan`]: batches of a part, one after the other.

pub(crate) mod meta;
pub(crate) mod reader;
pub(crate) mod scan;
pub(crate) mod stored;
pub(crate) mod view;
pub(crate) mod writer;
