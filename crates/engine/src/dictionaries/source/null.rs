//! The source NULL: no rows.

use super::{Blocks, LoadRequest, RowRange, RowSource};
use arrow::array::ArrayRef;
use basalt_base::Result;

use super::parameters::Parameters;

pub(super) struct NullSource;

impl NullSource {
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<NullSource> {
        parameters.finish(&[])?;
        Ok(NullSource)
    }
}

impl RowSource for NullSource {
    fn describe(&self, _database: &str) -> String {
        "Null".to_owned()
    }

    fn rows(&self, _load: &LoadRequest, _range: RowRange) -> Result<Blocks> {
        Ok(Box::new(std::iter::empty()))
    }

    fn rows_of(&self, _load: &LoadRequest, _keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        Ok(Vec::new())
    }

    /// There is no row to compute them for.
    fn takes_expressions(&self) -> bool {
        true
    }
}
