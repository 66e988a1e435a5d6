//! A source whose named collection is missing or does not fit: each load reports it.

use basalt_base::{Error, Result};

use super::{Blocks, LoadRequest, RowRange, RowSource};

pub(super) struct UnusableSource {
    pub(super) error: Error,
}

impl RowSource for UnusableSource {
    fn describe(&self, _database: &str) -> String {
        String::new()
    }

    fn rows(&self, _load: &LoadRequest, _range: RowRange) -> Result<Blocks> {
        Err(self.error.clone())
    }

    fn rows_of(
        &self,
        _load: &LoadRequest,
        _keys: &[arrow::array::ArrayRef],
    ) -> Result<Vec<Vec<arrow::array::ArrayRef>>> {
        Err(self.error.clone())
    }

    /// Unknown until the collection is usable, so they are accepted.
    fn takes_expressions(&self) -> bool {
        true
    }
}
