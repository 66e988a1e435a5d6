//! The contracts of column stores and of their builders.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use basalt_base::Result;

use super::array_value::append_array_value;
use crate::Rank;
use crate::file::PendingComponent;
use crate::search::TokenStrings;

/// The values of a column, in the order of ranks. Arrays have the Arrow type that the column was built with.
///
/// The bytes under it were checked by their checksums, but another program may have written them: every method
/// returns an error, or some values, for any bytes.
pub trait ColumnStore: Send + Sync + fmt::Debug {
    /// The number of values.
    fn len(&self) -> u32;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of `ranks`, which may be in any order and repeat.
    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef>;

    /// The values of consecutive ranks.
    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef>;

    /// Appends the bytes of the value of `rank` to `out`: those of a string, or of a number in little-endian order.
    /// `false`, and nothing more, if it is NULL. Arrays and tuples have no such bytes.
    fn append_value(&self, rank: Rank, out: &mut Vec<u8>) -> Result<bool> {
        match self.as_strings() {
            Some(strings) => strings.append(rank, out).map(|()| true),
            None => append_array_value(&self.take(&[rank])?, 0, out),
        }
    }

    /// The store of the strings itself, if that is what it holds: strings can be searched and read one at a time.
    fn as_strings(&self) -> Option<&dyn StringStore> {
        None
    }

    /// The bytes that it takes in the file.
    fn stored_bytes(&self) -> u64;
}

/// Strings by rank.
pub trait StringStore: Send + Sync + fmt::Debug {
    /// Appends the string of `rank` to `out`.
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()>;

    /// The codes of the strings, if they are stored as codes of tokens: they can be searched without being decoded.
    fn as_tokens(&self) -> Option<&dyn TokenStrings> {
        None
    }
}

/// Takes the values of a column in the order of ranks, block by block. Its memory has a bound that does not depend on
/// the number of values.
pub trait StoreBuilder: Send {
    /// The next values. A builder keeps no NULLs: it may put any value of the type in the place of one.
    fn push(&mut self, values: &ArrayRef) -> Result<()>;

    /// The components of the store: its own first, then nested ones.
    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>>;
}

/// Opens the store of a nested component, by its name within its owner and the type of its values.
pub(super) type OpenNested<'a> = &'a dyn Fn(&str, &DataType) -> Result<Arc<dyn ColumnStore>>;
