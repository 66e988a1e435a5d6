//! Reads the texts of a REGEXP_TREE as values of its attributes.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::{Error, Result, SqlType};

type Read = dyn Fn(&SqlType, &[Vec<u8>]) -> Result<ArrayRef> + Send + Sync;

/// A function that reads texts as values of a type.
#[derive(Clone)]
pub struct ReadValues(Arc<Read>);

impl ReadValues {
    pub fn new(
        read: impl Fn(&SqlType, &[Vec<u8>]) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> ReadValues {
        ReadValues(Arc::new(read))
    }

    pub(super) fn read(&self, ty: &SqlType, texts: &[Vec<u8>]) -> Result<ArrayRef> {
        (self.0)(ty, texts)
    }
}

/// Reads nothing: for layouts whose values are not texts.
impl Default for ReadValues {
    fn default() -> ReadValues {
        ReadValues::new(|ty, _| Err(Error::logical(format!("nothing reads texts as values of {ty}"))))
    }
}

impl fmt::Debug for ReadValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadValues")
    }
}

impl PartialEq for ReadValues {
    fn eq(&self, other: &ReadValues) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
