//! A source whose named collection is not there or does not fit: each load says why.

use basalt_base::{Error, Result};

use super::{Blocks, Question, RowSource, Wanted};

pub(super) struct UnusableSource {
    pub(super) error: Error,
}

impl RowSource for UnusableSource {
    fn describe(&self, _database: &str) -> String {
        String::new()
    }

    fn rows(&self, _question: &Question, _wanted: Wanted) -> Result<Blocks> {
        Err(self.error.clone())
    }

    fn rows_of(
        &self,
        _question: &Question,
        _keys: &[arrow::array::ArrayRef],
    ) -> Result<Vec<Vec<arrow::array::ArrayRef>>> {
        Err(self.error.clone())
    }

    /// Whether it can, nobody knows before it is of use.
    fn takes_expressions(&self) -> bool {
        true
    }
}
