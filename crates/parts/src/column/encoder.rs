//! Encodes arrays as sections: collects the rows of a block in the form in which they are stored.
//!
//! # Sections of a type, in order
//!
//! | carrier | sections |
//! |---|---|
//! | any, if nullable | null mask: a bit a row, 1 is a value; empty if there is no NULL |
//! | numbers, FixedSizeBinary | values, little-endian as in memory |
//! | decimals | the same, in 4 and 8 bytes for up to 9 and 18 digits; see [`decimals`](super::decimals) |
//! | Boolean | a bit a row |
//! | BinaryView | lengths, then the bytes of all rows |
//! | List | lengths, then the sections of the elements |
//! | Struct | the sections of each field |
//! | Null | none |
//!
//! A coded block of strings has codes of 1, 2 or 4 bytes instead of lengths and bytes: the index of the row's
//! string in the file's dictionary. See [`strings`](super::strings).
//!
//! Lengths have 1, 2 or 4 bytes each, the fewest that fit the longest of the block.

use arrow::array::{Array, AsArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field};
use basalt_codec::{self as codec, CodecChain, Scratch};

use super::decimals::{ShortDecimals, short_width};
use super::section::{Kind, SectionWriter};
use crate::error::Result;

/// The rows of a block that is not written yet.
#[derive(Debug)]
pub(crate) struct BlockEncoder {
    /// `None` for a field that is not nullable.
    valid: Option<BooleanBufferBuilder>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Fixed { bytes: Vec<u8>, width: usize, is_float: bool },
    Decimals(ShortDecimals),
    Bits(BooleanBufferBuilder),
    Strings { lengths: Vec<u32>, bytes: Vec<u8> },
    List { lengths: Vec<u32>, elements: Box<BlockEncoder> },
    Struct(Vec<BlockEncoder>),
    Nothing,
}

impl BlockEncoder {
    /// An empty block for arrays of `field`.
    ///
    /// # Panics
    ///
    /// If the field's type is no carrier.
    pub(crate) fn new(field: &Field) -> BlockEncoder {
        let values = match field.data_type() {
            DataType::Null => Values::Nothing,
            DataType::Boolean => Values::Bits(BooleanBufferBuilder::new(0)),
            DataType::BinaryView => Values::Strings { lengths: Vec::new(), bytes: Vec::new() },
            DataType::List(element) => {
                Values::List { lengths: Vec::new(), elements: Box::new(BlockEncoder::new(element)) }
            }
            DataType::Struct(fields) => {
                Values::Struct(fields.iter().map(|field| BlockEncoder::new(field)).collect())
            }
            fixed => match short_width(fixed) {
                Some(short_width) => Values::Decimals(ShortDecimals::new(short_width)),
                None => {
                    let (width, is_float) = (fixed_width(fixed), fixed.is_floating());
                    Values::Fixed { bytes: Vec::new(), width, is_float }
                }
            },
        };
        let has_mask = field.is_nullable() && *field.data_type() != DataType::Null;
        BlockEncoder { valid: has_mask.then(|| BooleanBufferBuilder::new(0)), values }
    }

    /// Appends the rows of `array`, which has the field's type.
    pub(crate) fn append(&mut self, array: &dyn Array) {
        if let Some(valid) = &mut self.valid {
            match array.nulls() {
                Some(nulls) => valid.append_buffer(nulls.inner()),
                None => valid.append_n(array.len(), true),
            }
        }
        match &mut self.values {
            Values::Nothing => {}
            Values::Fixed { bytes, width, .. } => append_fixed(array, *width, bytes),
            Values::Decimals(decimals) => decimals.append(array),
            Values::Bits(bits) => bits.append_buffer(array.as_boolean().values()),
            Values::Strings { lengths, bytes } => append_strings(array, lengths, bytes),
            Values::List { lengths, elements } => append_list(array, lengths, elements),
            Values::Struct(fields) => {
                for (field, column) in fields.iter_mut().zip(array.as_struct().columns()) {
                    field.append(column);
                }
            }
        }
    }

    /// Bytes collected so far, before encoding.
    pub(crate) fn raw_bytes(&self) -> usize {
        let values = match &self.values {
            Values::Nothing => 0,
            Values::Fixed { bytes, .. } => bytes.len(),
            Values::Decimals(decimals) => decimals.bytes().len(),
            Values::Bits(bits) => bits.len().div_ceil(8),
            Values::Strings { lengths, bytes } => lengths.len() + bytes.len(),
            Values::List { lengths, elements } => lengths.len() + elements.raw_bytes(),
            Values::Struct(fields) => fields.iter().map(BlockEncoder::raw_bytes).sum(),
        };
        values + self.valid.as_ref().map_or(0, |valid| valid.len().div_ceil(8))
    }

    /// The best chain for the rows collected so far.
    pub(crate) fn choose_chain(&self) -> CodecChain {
        let values = match &self.values {
            Values::Nothing => return CodecChain::default(),
            Values::Fixed { bytes, width, is_float: false } => {
                codec::Values::Integers { bytes, width: *width }
            }
            Values::Fixed { bytes, width, is_float: true } => codec::Values::Floats { bytes, width: *width },
            Values::Decimals(decimals) => {
                codec::Values::Integers { bytes: decimals.bytes(), width: decimals.width() }
            }
            Values::Bits(bits) => codec::Values::Bits(bits.as_slice()),
            Values::Strings { bytes, .. } => codec::Values::Text(bytes),
            Values::List { elements, .. } => return elements.choose_chain(),
            // The transforms of one field do not suit the others.
            Values::Struct(fields) => {
                let largest = fields.iter().max_by_key(|field| field.raw_bytes());
                return largest.map_or_else(CodecChain::default, |field| field.choose_chain().compressor());
            }
        };
        CodecChain::choose(values)
    }

    /// Writes the sections and resets the encoder.
    pub(crate) fn write(&mut self, sections: &mut SectionWriter<'_>) -> Result<()> {
        if let Some(valid) = &mut self.valid {
            write_mask(valid.finish(), sections)?;
        }
        match &mut self.values {
            Values::Nothing => {}
            Values::Fixed { bytes, width, .. } => {
                sections.write(Kind::Values(*width), bytes)?;
                bytes.clear();
            }
            Values::Decimals(decimals) => {
                sections.write(Kind::Values(decimals.width()), decimals.bytes())?;
                decimals.clear();
            }
            Values::Bits(bits) => {
                let bits = bits.finish();
                sections.write(Kind::Bytes, &bits.inner().as_slice()[..bits.len().div_ceil(8)])?;
            }
            Values::Strings { lengths, bytes } => {
                write_lengths(lengths, sections)?;
                sections.write(Kind::Text, bytes)?;
                bytes.clear();
            }
            Values::List { lengths, elements } => {
                write_lengths(lengths, sections)?;
                elements.write(sections)?;
            }
            Values::Struct(fields) => fields.iter_mut().try_for_each(|field| field.write(sections))?,
        }
        Ok(())
    }
}

/// Writes the null mask of a block; an empty section if there is no NULL.
pub(crate) fn write_mask(mask: BooleanBuffer, sections: &mut SectionWriter<'_>) -> Result<()> {
    let has_null = mask.count_set_bits() < mask.len();
    let bytes = mask.inner().as_slice();
    sections.write(Kind::Bytes, if has_null { &bytes[..mask.len().div_ceil(8)] } else { &[] })
}

/// Appends the sections of one array to `out`; returns the sum of their decoded bytes.
pub(crate) fn encode_array(
    field: &Field,
    chain: &CodecChain,
    array: &dyn Array,
    out: &mut Vec<u8>,
) -> Result<u64> {
    let mut block = BlockEncoder::new(field);
    block.append(array);
    let mut scratch = Scratch::default();
    let mut sections = SectionWriter { chain, out, scratch: &mut scratch, decoded_bytes: 0 };
    block.write(&mut sections)?;
    Ok(sections.decoded_bytes)
}

/// Bytes of a value of a fixed-width type.
///
/// # Panics
///
/// If the type is no carrier.
pub(crate) fn fixed_width(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeBinary(bytes) => *bytes as usize,
        other => other.primitive_width().unwrap_or_else(|| panic!("{other} carries no SQL type")),
    }
}

fn append_fixed(array: &dyn Array, width: usize, bytes: &mut Vec<u8>) {
    let data = array.to_data();
    let start = data.offset() * width;
    bytes.extend_from_slice(&data.buffers()[0].as_slice()[start..start + data.len() * width]);
}

fn append_strings(array: &dyn Array, lengths: &mut Vec<u32>, bytes: &mut Vec<u8>) {
    let strings = array.as_binary_view();
    lengths.reserve(strings.len());
    match strings.nulls() {
        None => {
            for value in 0..strings.len() {
                let value = strings.value(value);
                lengths.push(value.len() as u32);
                bytes.extend_from_slice(value);
            }
        }
        // The string under a NULL is undefined and would only take space.
        Some(_) => {
            for value in strings {
                let value = value.unwrap_or_default();
                lengths.push(value.len() as u32);
                bytes.extend_from_slice(value);
            }
        }
    }
}

fn append_list(array: &dyn Array, lengths: &mut Vec<u32>, elements: &mut BlockEncoder) {
    let list = array.as_list::<i32>();
    lengths.extend(list.offsets().lengths().map(|length| length as u32));
    let offsets = list.value_offsets();
    let (first, last) = (offsets[0] as usize, offsets[list.len()] as usize);
    elements.append(&list.values().slice(first, last - first));
}

fn write_lengths(lengths: &mut Vec<u32>, sections: &mut SectionWriter<'_>) -> Result<()> {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let bytes: Vec<u8> = if longest <= u32::from(u8::MAX) {
        lengths.iter().map(|&length| length as u8).collect()
    } else if longest <= u32::from(u16::MAX) {
        lengths.iter().flat_map(|&length| (length as u16).to_le_bytes()).collect()
    } else {
        lengths.iter().flat_map(|&length| length.to_le_bytes()).collect()
    };
    lengths.clear();
    sections.write(Kind::Bytes, &bytes)
}
