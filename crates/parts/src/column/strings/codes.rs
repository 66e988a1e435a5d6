//! The dictionary of a file, and the arrays of its coded blocks.
//!
//! # Layout of a dictionary
//!
//! ```text
//! number of strings u32 (little-endian)
//! sections of the strings, as of a column that is not nullable
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryViewArray, BooleanBufferBuilder, DictionaryArray, PrimitiveArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, UInt32Type};
use arrow::error::ArrowError;
use basalt_codec::CodecChain;

use super::distinct::ENTRIES_MAX;
use crate::column::decoder::{append_mask, decode_array};
use crate::column::encoder::encode_array;
use crate::column::section::{Kind, SectionReader};
use crate::error::{Damage, Result};

/// Bytes before the sections of a dictionary.
const COUNT_BYTES: u64 = size_of::<u32>() as u64;

/// Appends the dictionary in its file format; returns the decoded bytes of its sections.
pub(crate) fn encode_dictionary(
    strings: &BinaryViewArray,
    chain: &CodecChain,
    out: &mut Vec<u8>,
) -> Result<u64> {
    assert!(strings.len() <= ENTRIES_MAX, "a dictionary has no more strings than it may have");
    let count = u32::try_from(strings.len()).expect("a dictionary has at most ENTRIES_MAX strings");
    out.extend_from_slice(&count.to_le_bytes());
    encode_array(&dictionary_field(), chain, strings, out)
}

pub(crate) fn decode_dictionary(bytes: &[u8], chain: &CodecChain) -> Result<ArrayRef, Damage> {
    let (count, sections) =
        bytes.split_first_chunk().ok_or_else(|| Damage::new(0, "the dictionary is cut off"))?;
    let count = u32::from_le_bytes(*count) as usize;
    if count > ENTRIES_MAX {
        return Err(Damage::new(0, format!("a dictionary of {count} strings")));
    }
    decode_array(&dictionary_field(), chain, sections, count).map_err(|damage| damage.shifted(COUNT_BYTES))
}

fn dictionary_field() -> Field {
    Field::new("dictionary", DataType::BinaryView, false)
}

/// A dictionary array that grows block by block.
#[derive(Debug)]
pub(crate) struct CodesDecoder {
    dictionary: ArrayRef,
    keys: Vec<u32>,
    /// `None` for a field that is not nullable.
    valid: Option<BooleanBufferBuilder>,
}

impl CodesDecoder {
    /// An empty array over `dictionary` with room for `rows`.
    pub(crate) fn new(dictionary: ArrayRef, is_nullable: bool, rows: usize) -> CodesDecoder {
        let valid = is_nullable.then(|| BooleanBufferBuilder::new(rows));
        CodesDecoder { dictionary, keys: Vec::with_capacity(rows), valid }
    }

    /// Appends the rows `take` of a block of `rows` rows.
    pub(crate) fn append(
        &mut self,
        sections: &mut SectionReader<'_>,
        rows: usize,
        take: Range<usize>,
    ) -> Result<(), Damage> {
        if let Some(valid) = &mut self.valid {
            append_mask(sections, rows, take.clone(), valid)?;
        }
        let at = sections.at();
        let section = sections.next(Kind::Bytes)?;
        let width = section.decoded_bytes.checked_div(rows).unwrap_or(0);
        let bytes = sections.decode(&section.with_kind(Kind::Values(width)))?;
        let start = self.keys.len();
        match bytes.len() {
            count if count == rows => self.keys.extend(bytes[take].iter().map(|&code| u32::from(code))),
            count if count == rows * 2 => {
                let codes = &bytes.as_chunks().0[take];
                self.keys.extend(codes.iter().map(|code| u32::from(u16::from_le_bytes(*code))));
            }
            count if count == rows * 4 => {
                let codes = &bytes.as_chunks().0[take];
                self.keys.extend(codes.iter().map(|code| u32::from_le_bytes(*code)));
            }
            count => return Err(Damage::new(at, format!("{count} bytes of codes for {rows} rows"))),
        }
        let largest = self.keys[start..].iter().copied().max().unwrap_or(0) as usize;
        if largest >= self.dictionary.len() && self.keys.len() > start {
            let what = format!("code {largest}, the dictionary has {} strings", self.dictionary.len());
            return Err(Damage::new(at, what));
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<ArrayRef, ArrowError> {
        let nulls = self.valid.as_mut().map(|valid| NullBuffer::new(valid.finish()));
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let keys = PrimitiveArray::<UInt32Type>::try_new(ScalarBuffer::from(self.keys), nulls)?;
        Ok(Arc::new(DictionaryArray::try_new(keys, self.dictionary)?))
    }
}
