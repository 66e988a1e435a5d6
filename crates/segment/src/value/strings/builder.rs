//! Builds a store of records with any encoding.

use arrow::array::ArrayRef;
use basalt_base::Result;

use super::encoding::RecordEncoder;
use super::input;
use super::records::RecordsBuilder;
use crate::file::{PendingComponent, SpoolPlace};
use crate::value::StoreBuilder;

/// A buffer of a longer record is freed after it.
const RECORD_BYTES_KEPT: usize = 1 << 20;

/// Encodes strings as records.
pub(super) struct StringsBuilder<E> {
    name: String,
    reason: String,
    encoder: E,
    records: RecordsBuilder,
    record: Vec<u8>,
    raw_bytes: u64,
}

impl<E: RecordEncoder> StringsBuilder<E> {
    pub(super) fn new(name: &str, reason: &str, encoder: E, place: &SpoolPlace) -> StringsBuilder<E> {
        let (name, reason) = (name.to_owned(), reason.to_owned());
        StringsBuilder {
            name,
            reason,
            encoder,
            records: RecordsBuilder::new(place),
            record: Vec::new(),
            raw_bytes: 0,
        }
    }

    /// The memory of the encoder and of the last record.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.encoder.heap_bytes() + self.record.capacity()
    }
}

impl<E: RecordEncoder> StoreBuilder for StringsBuilder<E> {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        input::for_each(values, |string| {
            self.record.clear();
            self.encoder.encode(string, &mut self.record)?;
            self.records.push(&self.record)?;
            self.raw_bytes += string.len() as u64;
            if self.record.capacity() > RECORD_BYTES_KEPT {
                self.record = Vec::new();
            }
            Ok(())
        })
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = PendingComponent::new(self.name, self.encoder.name());
        component.reason = self.reason;
        component.raw_bytes = self.raw_bytes;
        self.encoder.finish(&mut component)?;
        self.records.finish(&mut component)?;
        Ok(vec![component])
    }
}
