//! Reading a table: from a request to blocks.
//!
//! - [`source`]: the contract: a table answers a [`ScanRequest`] with a [`BlockSource`], blocks in as many partitions as
//!   can be read in parallel.
//! - [`condition`]: what a key can use of a WHERE clause; [`predicate`]: what a skip index can.
//! - [`text`]: what a search of compressed strings can; [`text_prefix`]: beginnings of strings as ranges;
//!   [`compared_call`]: functions as conditions.
//! - [`operand`], [`monotonic`]: the columns and functions of columns that a table has a key or an index on.
//! - [`conjunct`], [`estimate`]: a WHERE clause taken apart, for a source that filters its rows itself.
//! - [`virtual_columns`]: columns that a query may read and that are not stored.
//! - [`coded_string`], [`numbering`]: strings that leave a source as numbers.
//! - [`parts`]: the sources of MergeTree tables; [`succinct`]: those of Succinct tables; [`key_value`] and
//!   [`raw_key_value`]: those of EmbeddedRocksDB tables; [`reach`]: keys that conditions leave.

mod coded_string;
mod compared_call;
mod condition;
mod conjunct;
mod estimate;
mod key_value;
mod monotonic;
mod numbering;
mod operand;
mod parts;
mod predicate;
mod raw_key_value;
mod reach;
mod source;
mod succinct;
mod text;
mod text_prefix;
mod virtual_columns;

pub(crate) use crate::scan::parts::{PartsSource, TableCaches};
pub(crate) use coded_string::{CodedSource, CodedString, StringPlace};
pub(crate) use condition::{ColumnCondition, ValueSet, conditions, sorted_points};
pub(crate) use key_value::KeyValueSource;
pub(crate) use monotonic::monotonic;
pub(crate) use numbering::Numbering;
pub(crate) use operand::{Operands, TableExpression};
pub(crate) use parts::FinalSource;
pub(crate) use predicate::predicate;
pub(crate) use raw_key_value::{RawSource, look_up};
pub(crate) use source::{BlockIterator, BlockSource, MemorySource, ScanRequest};
pub(crate) use succinct::succinct_source;
pub(crate) use text::text_conditions;
pub(crate) use virtual_columns::{VirtualColumn, repeated, with_columns_of_parts, with_constants};
