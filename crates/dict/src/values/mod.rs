//! The attributes of a loaded dictionary: what payloads stand for.
//!
//! - [`inline`]: narrow attributes packed into the payload itself.
//! - [`store`]: columns; the payload is a row number. A column is one of
//!   - [`fixed`]: values of one width, without padding;
//!   - [`strings`]: all strings in one [`arena`] ([`string_ends`]), or compressed ([`string_packer`],
//!     [`string_codes`], [`packed_strings`], [`packed_ends`]), and read in a [`string_batch`];
//!   - [`packed`]: values of one width in as few bits as they need;
//!   - [`nested`]: Arrow arrays of any other type, a [`stored_array`] in a file.
//! - [`segments`]: several stores, of a dictionary that was loaded shard by shard; [`row_number`] is the number of a
//!   row in them.
//! - [`bytes`]: the memory of columns, or their file; [`numbers`] of one width.
//! - [`cores`]: columns are packed on all cores, in a [`row_order`].

mod arena;
mod bitmap;
mod bytes;
mod cores;
mod fixed;
mod inline;
mod nested;
mod numbers;
mod packed;
mod packed_ends;
mod packed_strings;
mod row_number;
mod row_order;
mod segments;
mod store;
mod stored_array;
mod string_batch;
mod string_codes;
mod string_ends;
mod string_packer;
mod strings;

pub(crate) use arena::StringArena;
pub(crate) use bitmap::{Bitmap, Bits};
pub(crate) use bytes::Bytes;
pub(crate) use fixed::{fixed_array, fixed_bytes_of, fixed_width};
pub(crate) use inline::InlineValues;
pub(crate) use numbers::{Number, Numbers};
pub(crate) use packed::Extent;
pub(crate) use row_number::{ROWS_MAX, SEGMENT_BITS, SEGMENTS_MAX, split_row};
pub(crate) use row_order::RowOrder;
pub(crate) use segments::Segments;
pub(crate) use store::ColumnStore;

use arrow::array::ArrayRef;
use basalt_base::{Error, Result};

use crate::attribute::Attribute;
use crate::image::{ImageReader, ImageWriter};
use crate::payloads::Payloads;
use crate::table::Hits;

/// Turns payloads into attribute arrays.
pub(crate) enum Values {
    Inline(InlineValues),
    Rows(ColumnStore),
    /// The columns of a file, which never change.
    Segments(Segments),
}

impl Values {
    /// Packed into the payload if `may_inline` and the attributes are narrow enough, else columns.
    pub(crate) fn new(attributes: &[Attribute], may_inline: bool) -> Values {
        match InlineValues::new(attributes) {
            Some(inline) if may_inline => Values::Inline(inline),
            _ => Values::Rows(ColumnStore::new(attributes)),
        }
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        match self {
            Values::Inline(inline) => inline.payload_bytes(),
            Values::Rows(_) | Values::Segments(_) => size_of::<u32>(),
        }
    }

    /// The number of rows with a row number: 0 if the payloads hold the values.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Values::Rows(store) => store.rows(),
            Values::Inline(_) | Values::Segments(_) => 0,
        }
    }

    /// Adds a block of attribute columns, and returns the payload of each row.
    pub(crate) fn push(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Payloads> {
        match self {
            Values::Inline(inline) => inline.payloads(columns, rows).map(Payloads::Each),
            Values::Rows(store) => store.push(columns, rows).map(Payloads::Numbers),
            Values::Segments(_) => Err(Error::logical("the segments of a file are not added to")),
        }
    }

    /// The arrays of `attributes` for each hit; the default where it is missing.
    pub(crate) fn get(&self, attributes: &[usize], hits: &Hits) -> Result<Vec<ArrayRef>> {
        match self {
            Values::Inline(inline) => attributes.iter().map(|&at| inline.get(at, hits)).collect(),
            Values::Rows(store) => attributes.iter().map(|&at| store.get(at, hits)).collect(),
            Values::Segments(segments) => segments.get(attributes, hits),
        }
    }

    /// The rows of a column of a nested type, after the default, for each segment.
    pub(crate) fn nested(&self, attribute: usize) -> Result<Vec<&ArrayRef>> {
        match self {
            Values::Inline(_) => Err(Error::logical("values of a nested type are not inline")),
            Values::Rows(store) => Ok(vec![store.nested(attribute)?]),
            Values::Segments(segments) => segments.nested(attribute),
        }
    }

    /// Compares the checksums of all that [`Values::get`] reads.
    pub(crate) fn check(&self, attributes: &[usize], hits: &Hits) -> Result<()> {
        match self {
            Values::Inline(_) => Ok(()),
            Values::Rows(store) => attributes.iter().try_for_each(|&at| store.check(at, hits)),
            Values::Segments(segments) => segments.check(attributes, hits),
        }
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        match self {
            Values::Inline(inline) => inline.save(image),
            Values::Rows(store) => {
                image.number(1);
                store.save(image)?;
            }
            Values::Segments(segments) => segments.save(image)?,
        }
        Ok(())
    }

    /// Opens what [`Values::save`] wrote. The values were made by [`Values::new`] with the same arguments.
    pub(crate) fn open(
        attributes: &[Attribute],
        may_inline: bool,
        image: &mut ImageReader<'_>,
    ) -> Result<Values> {
        Ok(match Values::new(attributes, may_inline) {
            Values::Inline(inline) => Values::Inline(inline.open(image)?),
            _ => match image.number_below(SEGMENTS_MAX as u64 + 1)? as usize {
                0 => return Err(ImageReader::unfit()),
                1 => Values::Rows(ColumnStore::new(attributes).open(image)?),
                count => Values::Segments(Segments::open(count, attributes, image)?),
            },
        })
    }

    /// Learns what is needed to pack the rows, except for their order.
    pub(crate) fn plan(&mut self) -> Result<()> {
        match self {
            Values::Inline(_) | Values::Segments(_) => Ok(()),
            Values::Rows(store) => store.plan(),
        }
    }

    /// Must be called after the last row, before the first [`Values::get`].
    pub(crate) fn shrink(&mut self) -> Result<()> {
        match self {
            Values::Inline(_) | Values::Segments(_) => Ok(()),
            Values::Rows(store) => store.shrink(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Values::Inline(_) => 0,
            Values::Rows(store) => store.heap_bytes(),
            Values::Segments(segments) => segments.heap_bytes(),
        }
    }
}
