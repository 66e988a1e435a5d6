//! Strings as they are, for those that do not compress.

use basalt_base::Result;

use super::encoding::{RecordDecoder, RecordEncoder};
use crate::file::PendingComponent;

pub(super) const NAME: &str = "strings/plain";

/// A record is the string.
#[derive(Debug)]
pub(super) struct Plain;

impl RecordEncoder for Plain {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encode(&mut self, string: &[u8], record: &mut Vec<u8>) -> Result<()> {
        record.extend_from_slice(string);
        Ok(())
    }

    fn finish(&mut self, _component: &mut PendingComponent) -> Result<()> {
        Ok(())
    }

    #[cfg(test)]
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl RecordDecoder for Plain {
    #[inline]
    fn append(&self, record: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(record);
        Ok(())
    }

    fn stored_bytes(&self) -> u64 {
        0
    }
}
