//! A part: a directory of column files, its metadata and its primary index.
//!
//! - [`meta`]: `part.meta`, the description of the part.
//! - [`part_type`]: wide or compact.
//! - [`deleted`]: the rows that a lightweight DELETE removed.
//! - [`writer`]: writes sorted rows to a pending part; [`column_writer`] writes a column, [`computed_index`] a skip
//!   index over several columns.
//! - [`rewriter`]: copies a wide part with other values in some columns.
//! - [`volume`], [`sink`]: the size of values, and the buffer for a part that may be compact or wide.
//! - [`span`]: the bytes of a column: a file, or a section of a compact part's data file.
//! - [`stored`]: a published part on disk, independent of the table's current columns.
//! - [`view`]: a stored part as rows of the table.
//! - [`pruning`]: finds the granules that a query needs.
//! - [`reader`]: reads a part column by column through the cache of decoded blocks.
//! - [`scan`]: reads a part batch by batch.
//! - [`inspection`]: a part without its table, for people.

mod column_writer;
mod computed_index;
pub(crate) mod deleted;
pub(crate) mod file_name;
pub(crate) mod inspection;
pub(crate) mod meta;
pub(crate) mod part_type;
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
