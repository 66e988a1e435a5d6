//! One part: a directory of column files, its metadata and its primary index.
//!
//! - [`meta`]: `part.meta`, what the part is made of.
//! - [`deleted`]: the rows that a lightweight DELETE took away.
//! - [`writer`]: sorted rows to a pending part, [`column_writer`] one column of it, [`computed_index`]
//!   a skip index of several columns.
//! - [`rewriter`]: a wide part with other values in some columns.
//! - [`volume`], [`sink`]: how many bytes values are; where they go until a part is known to be wide.
//! - [`span`]: the bytes of a column: a file, or a stretch of a compact part's data file.
//! - [`stored`]: a published part on disk, whatever the table looks like today.
//! - [`view`]: a stored part seen as rows of the table.
//! - [`pruning`]: which granules of it a query needs.
//! - [`reader`]: a part column by column, by way of the cache of decoded blocks.
//! - [`scan`]: batches of a part, one after the other.

mod column_writer;
mod computed_index;
pub(crate) mod deleted;
pub(crate) mod file_name;
pub(crate) mod meta;
pub(crate) mod pruning;
pub(crate) mod reader;
pub(crate) mod rewriter;
pub(crate) mod scan;
pub(crate) mod sink;
pub(crate) mod span;
pub(crate) mod stored;
pub(crate) mod view;
pub(crate) mod volume;
pub(crate) mod writer;
