//! Builds a secondary index.

use basalt_base::{Error, ErrorCode, Result};

use super::layout::{ENCODING, values_of};
use super::run::{RunReader, write_entry};
use super::sort::EntrySorter;
use crate::Rank;
use crate::bits::ascending::AscendingBuilder;
use crate::file::{PendingComponent, Spool, SpoolPlace};
use crate::key::limits::KEY_BYTES_MAX;
use crate::key::registry::KeyIndexBuilder;
use crate::key::sample::KeySample;

/// Takes entries in any order. An entry that comes again is one.
#[derive(Debug)]
pub struct SecondaryIndexBuilder {
    name: String,
    place: SpoolPlace,
    sorter: EntrySorter,
    raw_bytes: u64,
    /// More than the greatest rank.
    rows: u64,
}

impl SecondaryIndexBuilder {
    /// Sorts entries of about `memory_bytes` bytes at a time.
    pub fn new(name: &str, place: &SpoolPlace, memory_bytes: usize) -> SecondaryIndexBuilder {
        SecondaryIndexBuilder {
            name: name.to_owned(),
            place: place.clone(),
            sorter: EntrySorter::new(place, memory_bytes),
            raw_bytes: 0,
            rows: 0,
        }
    }

    /// Row `rank` has `value`. An error if the value is longer than a key may be.
    pub fn push(&mut self, value: &[u8], rank: Rank) -> Result<()> {
        if value.len() > KEY_BYTES_MAX {
            let what = format!("a value of {} bytes", value.len());
            let limit = format!("a secondary index takes at most {KEY_BYTES_MAX}");
            return Err(Error::new(ErrorCode::TooLargeStringSize, format!("{what} is too long: {limit}")));
        }
        self.raw_bytes += (value.len() + size_of::<Rank>()) as u64;
        self.rows = self.rows.max(u64::from(rank) + 1);
        self.sorter.push(value, rank)
    }

    /// The components of the index: its own first, then that of its values.
    pub fn finish(self) -> Result<Vec<PendingComponent>> {
        let (mut sample, mut sorted) = (KeySample::default(), self.place.spool());
        let mut last: Option<Vec<u8>> = None;
        self.sorter.finish(|value, rank| {
            write_entry(&mut sorted, value, rank)?;
            if last.as_deref() != Some(value) {
                last = Some(value.to_vec());
                sample.add(value)?;
            }
            Ok(())
        })?;
        let mut entries = PendingComponent::new(self.name.clone(), ENCODING);
        entries.raw_bytes = self.raw_bytes;
        entries.number(self.rows);
        let values = KeyIndexBuilder::new(&values_of(&self.name), sample, &self.place)?;
        let values = write(sorted, self.rows, values, &mut entries, &self.place)?;
        Ok([entries].into_iter().chain(values).collect())
    }
}

/// Writes sorted entries. Returns the components of the values.
fn write(
    sorted: Spool,
    rows: u64,
    mut values: KeyIndexBuilder,
    entries: &mut PendingComponent,
    place: &SpoolPlace,
) -> Result<Vec<PendingComponent>> {
    let mut numbers = AscendingBuilder::new(place);
    let (mut reader, mut count, mut last) = (RunReader::new(sorted)?, 0_u64, Vec::new());
    while reader.advance()? {
        if count == 0 || last != reader.value() {
            values.push(reader.value())?;
            count += 1;
            last.clear();
            last.extend_from_slice(reader.value());
        }
        numbers.push((count - 1) * rows + u64::from(reader.rank()))?;
    }
    numbers.finish(entries)?;
    values.finish()
}
