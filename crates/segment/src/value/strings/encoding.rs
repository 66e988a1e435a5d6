//! What each encoding of strings must do: encode one string as a record, and decode one record.

use std::fmt;

use basalt_base::Result;

use crate::file::PendingComponent;

/// Encodes strings one by one.
pub(super) trait RecordEncoder: Send {
    /// The name of the encoding in the directory of a file.
    fn name(&self) -> &'static str;

    /// Appends the record of `string` to `record`.
    fn encode(&mut self, string: &[u8], record: &mut Vec<u8>) -> Result<()>;

    /// Adds what all records share, before the records themselves.
    fn finish(&mut self, component: &mut PendingComponent) -> Result<()>;

    /// The memory that it holds. It has a bound.
    #[cfg(test)]
    fn heap_bytes(&self) -> usize;
}

/// Decodes records one by one.
pub(super) trait RecordDecoder: Send + Sync + fmt::Debug {
    /// Appends the string of `record` to `out`. Any bytes give an error or some string.
    fn append(&self, record: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// The bytes in the file of what all records share.
    fn stored_bytes(&self) -> u64;
}
