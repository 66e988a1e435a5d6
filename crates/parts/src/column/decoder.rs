//! Decodes sections straight into the buffers of one Arrow array.
//!
//! The order of sections is in [`encoder`](super::encoder). The numbers of a whole block are decoded in place;
//! strings are views into the decoded block and are not copied.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayData, ArrayRef, BooleanArray, BooleanBufferBuilder, ListArray, NullArray, StructArray, make_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use basalt_base::string_views::StringViews;
use basalt_codec::{CodecChain, Scratch};

use super::decimals::{WIDE, extend_wide, short_width};
use super::encoder::fixed_width;
use super::section::{Kind, Section, SectionReader};
use crate::error::Damage;

/// An array that grows block by block.
#[derive(Debug)]
pub(crate) struct ArrayDecoder {
    data_type: DataType,
    /// `None` for a field that is not nullable.
    valid: Option<BooleanBufferBuilder>,
    rows: usize,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Fixed {
        bytes: MutableBuffer,
        width: usize,
    },
    /// Decimals whose stored values may have `short_width` bytes.
    Decimals {
        bytes: MutableBuffer,
        short_width: usize,
    },
    Bits(BooleanBufferBuilder),
    Strings(StringViews),
    List {
        offsets: Vec<i32>,
        elements: Box<ArrayDecoder>,
    },
    Struct(Vec<ArrayDecoder>),
    Nothing,
}

impl ArrayDecoder {
    /// An empty array of `field` with room for `rows`.
    pub(crate) fn new(field: &Field, rows: usize) -> ArrayDecoder {
        let data_type = field.data_type().clone();
        let values = match &data_type {
            DataType::Null => Values::Nothing,
            DataType::Boolean => Values::Bits(BooleanBufferBuilder::new(rows)),
            DataType::BinaryView => Values::Strings(StringViews::with_capacity(rows)),
            DataType::List(element) => {
                let mut offsets = Vec::with_capacity(rows + 1);
                offsets.push(0);
                Values::List { offsets, elements: Box::new(ArrayDecoder::new(element, 0)) }
            }
            DataType::Struct(fields) => {
                Values::Struct(fields.iter().map(|field| ArrayDecoder::new(field, rows)).collect())
            }
            fixed => {
                let width = fixed_width(fixed);
                let bytes = MutableBuffer::with_capacity(rows * width);
                match short_width(fixed) {
                    Some(short_width) => Values::Decimals { bytes, short_width },
                    None => Values::Fixed { bytes, width },
                }
            }
        };
        let has_mask = field.is_nullable() && data_type != DataType::Null;
        let valid = has_mask.then(|| BooleanBufferBuilder::new(rows));
        ArrayDecoder { data_type, valid, rows: 0, values }
    }

    /// Appends the rows `take` of a block of `rows` rows.
    pub(crate) fn append(
        &mut self,
        sections: &mut SectionReader<'_>,
        rows: usize,
        take: Range<usize>,
    ) -> Result<(), Damage> {
        self.rows += take.len();
        if let Some(valid) = &mut self.valid {
            append_mask(sections, rows, take.clone(), valid)?;
        }
        match &mut self.values {
            Values::Nothing => Ok(()),
            Values::Fixed { bytes, width } => append_fixed(sections, rows, take, *width, bytes),
            Values::Decimals { bytes, short_width } => {
                append_decimals(sections, rows, take, *short_width, bytes)
            }
            Values::Bits(bits) => {
                let section = sections.next(Kind::Bytes)?;
                append_bits(sections.decode(&section)?, rows, take, bits)
                    .map_err(|what| Damage::new(sections.at(), what))
            }
            Values::Strings(views) => append_strings(sections, rows, take, views),
            Values::List { offsets, elements } => append_list(sections, rows, take, offsets, elements),
            Values::Struct(fields) => {
                fields.iter_mut().try_for_each(|field| field.append(sections, rows, take.clone()))
            }
        }
    }

    pub(crate) fn finish(mut self) -> Result<ArrayRef, ArrowError> {
        let nulls = self.valid.as_mut().map(|valid| NullBuffer::new(valid.finish()));
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        Ok(match self.values {
            Values::Nothing => Arc::new(NullArray::new(self.rows)),
            Values::Fixed { bytes, .. } | Values::Decimals { bytes, .. } => {
                let mask = nulls.map(NullBuffer::into_inner).map(|bits| bits.into_inner());
                let buffers = vec![bytes.into()];
                make_array(ArrayData::try_new(self.data_type, self.rows, mask, 0, buffers, vec![])?)
            }
            Values::Bits(mut bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Values::Strings(views) => Arc::new(views.finish(nulls)),
            Values::List { offsets, elements } => {
                let DataType::List(element) = self.data_type else {
                    unreachable!("only a list has list values");
                };
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                Arc::new(ListArray::try_new(element, offsets, elements.finish()?, nulls)?)
            }
            Values::Struct(columns) => {
                let DataType::Struct(fields) = self.data_type else {
                    unreachable!("only a struct has struct values");
                };
                let columns = columns.into_iter().map(ArrayDecoder::finish).collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new_with_length(fields, columns, nulls, self.rows)?)
            }
        })
    }
}

/// Decodes an array of `rows` rows from sections; fails if `bytes` has more.
pub(crate) fn decode_array(
    field: &Field,
    chain: &CodecChain,
    bytes: &[u8],
    rows: usize,
) -> Result<ArrayRef, Damage> {
    let mut scratch = Scratch::default();
    let mut sections = SectionReader::new(chain, bytes, &mut scratch);
    let mut array = ArrayDecoder::new(field, 0);
    array.append(&mut sections, rows, 0..rows)?;
    sections.finish()?;
    array.finish().map_err(|error| Damage::new(0, error.to_string()))
}

fn append_fixed(
    sections: &mut SectionReader<'_>,
    rows: usize,
    take: Range<usize>,
    width: usize,
    bytes: &mut MutableBuffer,
) -> Result<(), Damage> {
    let section = sections.expect(Kind::Values(width), rows * width)?;
    append_values(sections, &section, rows, take, width, bytes)
}

/// Appends decimals, stored short or, if a value did not fit, in full width.
fn append_decimals(
    sections: &mut SectionReader<'_>,
    rows: usize,
    take: Range<usize>,
    short_width: usize,
    bytes: &mut MutableBuffer,
) -> Result<(), Damage> {
    let at = sections.at();
    let section = sections.next(Kind::Values(short_width))?;
    if section.decoded_bytes == rows * short_width {
        let block = sections.decode(&section)?;
        let taken = &block[take.start * short_width..take.end * short_width];
        extend_wide(taken, short_width, bytes);
        return Ok(());
    }
    if section.decoded_bytes != rows * WIDE {
        let what = format!("a section of {} decoded bytes for {rows} decimals", section.decoded_bytes);
        return Err(Damage::new(at, what));
    }
    append_values(sections, &section.with_kind(Kind::Values(WIDE)), rows, take, WIDE, bytes)
}

/// Appends stored values of `width` bytes.
fn append_values(
    sections: &mut SectionReader<'_>,
    section: &Section<'_>,
    rows: usize,
    take: Range<usize>,
    width: usize,
    bytes: &mut MutableBuffer,
) -> Result<(), Damage> {
    if take.len() < rows {
        let block = sections.decode(section)?;
        bytes.extend_from_slice(&block[take.start * width..take.end * width]);
        return Ok(());
    }
    let start = bytes.len();
    bytes.resize(start + rows * width, 0);
    sections.decode_into(section, &mut bytes.as_slice_mut()[start..])
}

/// Appends the null mask of a block; an empty section means that there is no NULL.
pub(crate) fn append_mask(
    sections: &mut SectionReader<'_>,
    rows: usize,
    take: Range<usize>,
    valid: &mut BooleanBufferBuilder,
) -> Result<(), Damage> {
    let mask = sections.next(Kind::Bytes)?;
    if mask.decoded_bytes == 0 {
        valid.append_n(take.len(), true);
        return Ok(());
    }
    append_bits(sections.decode(&mask)?, rows, take, valid).map_err(|what| Damage::new(sections.at(), what))
}

fn append_bits(
    bytes: Vec<u8>,
    rows: usize,
    take: Range<usize>,
    out: &mut BooleanBufferBuilder,
) -> Result<(), String> {
    if bytes.len() != rows.div_ceil(8) {
        return Err(format!("{} bytes of bits for {rows} rows", bytes.len()));
    }
    out.append_buffer(&BooleanBuffer::new(Buffer::from(bytes), take.start, take.len()));
    Ok(())
}

/// The lengths of a block's rows, and their sum.
fn read_lengths(sections: &mut SectionReader<'_>, rows: usize) -> Result<Vec<u32>, Damage> {
    let at = sections.at();
    let section = sections.next(Kind::Bytes)?;
    let bytes = sections.decode(&section)?;
    match bytes.len() {
        count if count == rows => Ok(bytes.into_iter().map(u32::from).collect()),
        count if count == rows * 2 => {
            Ok(bytes.as_chunks().0.iter().map(|length| u32::from(u16::from_le_bytes(*length))).collect())
        }
        count if count == rows * 4 => {
            Ok(bytes.as_chunks().0.iter().map(|length| u32::from_le_bytes(*length)).collect())
        }
        count => Err(Damage::new(at, format!("{count} bytes of lengths for {rows} rows"))),
    }
}

fn sum(lengths: &[u32]) -> usize {
    lengths.iter().map(|&length| length as usize).sum()
}

fn append_strings(
    sections: &mut SectionReader<'_>,
    rows: usize,
    take: Range<usize>,
    views: &mut StringViews,
) -> Result<(), Damage> {
    let lengths = read_lengths(sections, rows)?;
    let section = sections.expect(Kind::Text, sum(&lengths))?;
    let bytes = sections.decode(&section)?;
    let start = sum(&lengths[..take.start]);
    views.append(bytes, start, &lengths[take]);
    Ok(())
}

fn append_list(
    sections: &mut SectionReader<'_>,
    rows: usize,
    take: Range<usize>,
    offsets: &mut Vec<i32>,
    elements: &mut ArrayDecoder,
) -> Result<(), Damage> {
    let lengths = read_lengths(sections, rows)?;
    let before = sum(&lengths[..take.start]);
    let mut end = *offsets.last().expect("offsets begin with a zero");
    for &length in &lengths[take.clone()] {
        end = i32::try_from(length)
            .ok()
            .and_then(|length| end.checked_add(length))
            .ok_or_else(|| Damage::new(sections.at(), "arrays with more than 2^31 elements in all"))?;
        offsets.push(end);
    }
    let wanted = sum(&lengths[take]);
    elements.append(sections, sum(&lengths), before..before + wanted)
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;

    use super::*;
    use crate::column::encoder::encode_array;
    use crate::sample::{self, Noise};

    const ROWS: usize = 12;

    /// A file has a checksum in front of the sections; here there is none, so damage may decode to other values. It
    /// must not panic, and the array has the right type and length.
    #[test]
    fn damaged_sections_decode_to_an_error_or_an_array() {
        for ty in sample::types() {
            let field = Field::new("c", ty.carrier(), ty.accepts_null());
            let array = sample::array(&ty, ROWS, &mut Noise(3));
            let chain = CodecChain::default();
            let mut bytes = Vec::new();
            encode_array(&field, &chain, &array, &mut bytes).unwrap();
            assert_eq!(&decode_array(&field, &chain, &bytes, ROWS).unwrap(), &array, "{ty}");
            let check = |damaged: &[u8]| {
                if let Ok(decoded) = decode_array(&field, &chain, damaged, ROWS) {
                    assert_eq!((decoded.data_type(), decoded.len()), (field.data_type(), ROWS), "{ty}");
                }
            };
            for bit in 0..bytes.len().min(600) * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                check(&flipped);
            }
            for end in 0..bytes.len().min(600) {
                check(&bytes[..end]);
            }
        }
    }
}
