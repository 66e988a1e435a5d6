//! Values of a fixed number of bytes as they are in memory.
//!
//! # Layout
//!
//! Two numbers and a section:
//!
//! ```text
//! count, bytes of a value
//! values      back to back, little-endian, as Arrow has them
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use arrow::array::{Array, ArrayData, ArrayRef, make_array};
use arrow::buffer::MutableBuffer;
use arrow::datatypes::DataType;
use basalt_base::{Error, Result, query};

use super::numbers::no_value;
use super::store::{ColumnStore, StoreBuilder};
use crate::file::{Bytes, ComponentReader, PendingComponent, Spool, SpoolPlace};
use crate::{ROWS_MAX, Rank};

pub(super) const ENCODING: &str = "plain";

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Ranks between checks of the query.
const CHECKED_RANKS: usize = 64 << 10;

/// The bytes of a value; `None` if the type has no fixed width in bytes.
pub(super) fn value_bytes(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeBinary(bytes) => usize::try_from(*bytes).ok(),
        other => other.primitive_width(),
    }
}

pub(super) struct PlainBuilder {
    component: PendingComponent,
    values: Spool,
    count: u64,
    width: usize,
}

impl PlainBuilder {
    /// `width` is [`value_bytes`] of the type.
    pub(super) fn new(component: PendingComponent, width: usize, place: &SpoolPlace) -> PlainBuilder {
        PlainBuilder { component, values: place.spool(), count: 0, width }
    }
}

impl StoreBuilder for PlainBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        let array = values.to_data();
        let range = array.offset() * self.width..(array.offset() + array.len()) * self.width;
        let bytes = array.buffers().first().and_then(|buffer| buffer.as_slice().get(range));
        let bytes = bytes.ok_or_else(|| Error::logical("an array is shorter than its length"))?;
        for piece in bytes.chunks(PIECE_BYTES) {
            query::checkpoint()?;
            self.values.write(piece)?;
        }
        self.count += array.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = self.component;
        component.raw_bytes = self.values.len();
        component.number(self.count);
        component.number(self.width as u64);
        component.section(self.values);
        Ok(vec![component])
    }
}

#[derive(Debug)]
pub(super) struct Plain {
    values: Bytes,
    count: u32,
    width: usize,
    data_type: DataType,
}

impl Plain {
    pub(super) fn open(component: &mut ComponentReader<'_>, data_type: &DataType) -> Result<Plain> {
        let count = component.number_to(ROWS_MAX)?;
        let (width, values) = (component.number()?, component.bytes()?);
        let is_width = value_bytes(data_type).is_some_and(|bytes| bytes as u64 == width);
        if !is_width || u128::from(count) * u128::from(width) != values.len() as u128 {
            let what = format!("{} bytes for {count} values of type {data_type}", values.len());
            return Err(component.place().corrupt(what));
        }
        let count = u32::try_from(count).map_err(Error::logical)?;
        let width = usize::try_from(width).map_err(Error::logical)?;
        Ok(Plain { values, count, width, data_type: data_type.clone() })
    }

    fn array(&self, bytes: MutableBuffer, count: usize) -> Result<ArrayRef> {
        let data = ArrayData::builder(self.data_type.clone()).len(count).add_buffer(bytes.into());
        Ok(make_array(data.build().map_err(Error::logical)?))
    }
}

impl ColumnStore for Plain {
    fn len(&self) -> u32 {
        self.count
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        let (mut bytes, mut buffer) = (MutableBuffer::new(ranks.len() * self.width), Vec::new());
        for ranks in ranks.chunks(CHECKED_RANKS) {
            query::checkpoint()?;
            for &rank in ranks {
                if rank >= self.count {
                    return Err(no_value(rank, self.count));
                }
                let start = rank as usize * self.width;
                bytes.extend_from_slice(self.values.read(start..start + self.width, &mut buffer)?);
            }
        }
        self.array(bytes, ranks.len())
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        if ranks.start > ranks.end || ranks.end > self.count {
            return Err(no_value(ranks.end, self.count));
        }
        let (start, end) = (ranks.start as usize * self.width, ranks.end as usize * self.width);
        let (mut bytes, mut buffer) = (MutableBuffer::new(end - start), Vec::new());
        for from in (start..end).step_by(PIECE_BYTES) {
            query::checkpoint()?;
            bytes.extend_from_slice(self.values.read(from..end.min(from + PIECE_BYTES), &mut buffer)?);
        }
        self.array(bytes, ranks.len())
    }

    fn stored_bytes(&self) -> u64 {
        self.values.len() as u64
    }
}
