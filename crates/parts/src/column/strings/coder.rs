//! Codes one string column while its file is written.
//!
//! The first [`SAMPLE_ROWS`] rows are coded and held back. If they have few distinct strings, they are written as
//! codes, and so are the following rows while that pays off. Once it does not, all further rows are written as
//! plain strings. So the coded blocks are the first blocks of a file: all, some or none.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, DictionaryArray, UInt32Array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::compute::take;
use arrow::datatypes::UInt32Type;
use basalt_base::SqlType;
use basalt_codec::{CodecChain, Values};

use super::distinct::DistinctStrings;
use crate::column::encoder::write_mask;
use crate::column::section::{Kind, SectionWriter};
use crate::error::Result;

/// Rows in the sample that is examined before the first block is written.
pub(crate) const SAMPLE_ROWS: usize = 65_536;

/// Bytes of strings in the sample for choosing a compressor.
const TEXT_SAMPLE_BYTES: usize = 64 << 10;

/// When the strings of a column are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// The column is not a string column, or is nested.
    Never,
    /// While there are few distinct strings.
    IfFew,
    /// While they fit in a dictionary: the type is LowCardinality.
    IfPossible,
}

impl Coding {
    pub(crate) fn of(ty: &SqlType) -> Coding {
        match ty {
            SqlType::String => Coding::IfFew,
            SqlType::Nullable(inner) => Coding::of(inner),
            SqlType::LowCardinality(inner) if Coding::of(inner) == Coding::IfFew => Coding::IfPossible,
            _ => Coding::Never,
        }
    }

    fn pays(self, rows: usize, distinct: usize) -> bool {
        match self {
            Coding::Never => false,
            // New strings become rarer, so more are allowed among the first rows.
            Coding::IfFew => distinct <= rows / 4 + rows.min(SAMPLE_ROWS) / 4,
            Coding::IfPossible => true,
        }
    }
}

/// Codes the rows of a column, and holds those that are not written yet.
#[derive(Debug)]
pub(crate) struct StringCoder {
    coding: Coding,
    distinct: DistinctStrings,
    /// The codes of rows that are not written yet; a NULL has an arbitrary code.
    codes: Vec<u32>,
    /// `None` for a column that is not nullable.
    valid: Option<Vec<bool>>,
    rows: usize,
    /// The number of strings that written blocks refer to.
    written: usize,
    /// The dictionary of the last rows.
    known: Option<KnownCodes>,
}

/// Maps the codes of another dictionary to ours, so that each string is looked up once.
#[derive(Debug)]
struct KnownCodes {
    dictionary: ArrayRef,
    /// By position in that dictionary; [`UNKNOWN`] until first used.
    codes: Vec<u32>,
}

/// Not a code: there are at most [`ENTRIES_MAX`](super::distinct::ENTRIES_MAX).
const UNKNOWN: u32 = u32::MAX;

impl StringCoder {
    pub(crate) fn new(coding: Coding, is_nullable: bool) -> StringCoder {
        StringCoder {
            coding,
            distinct: DistinctStrings::of_column(),
            codes: Vec::new(),
            valid: is_nullable.then(Vec::new),
            rows: 0,
            written: 0,
            known: None,
        }
    }

    /// Rows that were appended and not written.
    pub(crate) fn pending(&self) -> usize {
        self.codes.len()
    }

    /// Bytes of a code for the current number of strings.
    pub(crate) fn code_bytes(&self) -> usize {
        width(self.distinct.len().saturating_sub(1) as u32)
    }

    pub(crate) fn pays(&self) -> bool {
        self.coding.pays(self.rows, self.distinct.len())
    }

    /// Appends rows of `array` from the first on; stops early if the dictionary is full. Returns the number of rows
    /// appended. The array has strings, or is a dictionary array with `UInt32` keys over them.
    pub(crate) fn append(&mut self, array: &dyn Array) -> usize {
        if let Some(coded) = array.as_dictionary_opt::<UInt32Type>() {
            return self.append_coded(coded);
        }
        let strings = array.as_binary_view();
        let (views, buffers) = (strings.views(), strings.data_buffers());
        let taken = match strings.nulls() {
            None => self.distinct.append_codes(views, buffers, &mut self.codes),
            Some(nulls) => self.append_with_nulls(views, buffers, nulls),
        };
        if let Some(valid) = &mut self.valid {
            valid.extend((0..taken).map(|row| strings.is_valid(row)));
        }
        self.rows += taken;
        taken
    }

    /// Like [`DistinctStrings::append_codes`] for the rows that are not NULL; the others get code 0.
    fn append_with_nulls(&mut self, views: &[u128], buffers: &[Buffer], nulls: &NullBuffer) -> usize {
        let before = self.codes.len();
        for (start, end) in nulls.valid_slices() {
            self.codes.resize(before + start, 0);
            let taken = self.distinct.append_codes(&views[start..end], buffers, &mut self.codes);
            if start + taken < end {
                return start + taken;
            }
        }
        self.codes.resize(before + views.len(), 0);
        views.len()
    }

    fn append_coded(&mut self, rows: &DictionaryArray<UInt32Type>) -> usize {
        let mut known = match self.known.take() {
            Some(known) if Arc::ptr_eq(&known.dictionary, rows.values()) => known,
            _ => KnownCodes {
                dictionary: Arc::clone(rows.values()),
                codes: vec![UNKNOWN; rows.values().len()],
            },
        };
        let keys = rows.keys();
        let mut taken = 0;
        for (row, &key) in keys.values().iter().enumerate() {
            let code = if keys.is_null(row) { Some(0) } else { self.known_code(&mut known, key) };
            let Some(code) = code else { break };
            self.codes.push(code);
            taken += 1;
        }
        if let Some(valid) = &mut self.valid {
            valid.extend((0..taken).map(|row| keys.is_valid(row)));
        }
        self.known = Some(known);
        self.rows += taken;
        taken
    }

    /// The code of the string at `key`; `None` if it is new and does not fit.
    fn known_code(&mut self, known: &mut KnownCodes, key: u32) -> Option<u32> {
        let key = key as usize;
        if known.codes[key] == UNKNOWN {
            let strings = known.dictionary.as_binary_view();
            let mut found = Vec::with_capacity(1);
            self.distinct.append_codes(&strings.views()[key..=key], strings.data_buffers(), &mut found);
            known.codes[key] = *found.first()?;
        }
        Some(known.codes[key])
    }

    /// The best chain for the codes so far, with the best text codec for the strings; the larger of the two decides
    /// the compressor.
    pub(crate) fn choose_chain(&self) -> CodecChain {
        let width = self.code_bytes();
        let codes = code_bytes(&self.codes, width);
        let strings = self.distinct.strings(self.distinct.len());
        let mut text = Vec::with_capacity(TEXT_SAMPLE_BYTES);
        for string in strings.iter().flatten() {
            text.extend_from_slice(string);
            if text.len() >= TEXT_SAMPLE_BYTES {
                break;
            }
        }
        let by_codes = CodecChain::choose(Values::Integers { bytes: &codes, width });
        let by_text = CodecChain::choose(Values::Text(&text));
        let text_bytes: usize = strings.views().iter().map(|view| *view as u32 as usize).sum();
        by_codes.with_text(&by_text).with_compressor(if text_bytes > codes.len() {
            &by_text
        } else {
            &by_codes
        })
    }

    /// Writes the sections of the next `rows` rows: the null mask if the column is nullable, and codes of 1, 2 or 4
    /// bytes.
    pub(crate) fn write(&mut self, rows: usize, sections: &mut SectionWriter<'_>) -> Result<()> {
        if let Some(valid) = self.take_valid(rows) {
            write_mask(valid, sections)?;
        }
        let codes: Vec<u32> = self.codes.drain(..rows).collect();
        let largest = codes.iter().copied().max().unwrap_or(0);
        self.written = self.written.max(largest as usize + 1);
        let width = width(largest);
        sections.write(Kind::Values(width), &code_bytes(&codes, width))
    }

    /// The rows that are not written, as strings.
    pub(crate) fn take_pending(&mut self) -> Result<ArrayRef> {
        let rows = self.codes.len();
        let valid = self.take_valid(rows);
        let mut codes: Vec<Option<u32>> = self.codes.drain(..).map(Some).collect();
        if let Some(valid) = valid {
            for (code, is_valid) in codes.iter_mut().zip(&valid) {
                *code = code.filter(|_| is_valid);
            }
        }
        let strings = self.distinct.strings(self.distinct.len());
        Ok(take(&strings, &UInt32Array::from(codes), None)?)
    }

    fn take_valid(&mut self, rows: usize) -> Option<BooleanBuffer> {
        self.valid.as_mut().map(|valid| valid.drain(..rows).collect())
    }

    /// The strings that written blocks refer to; at least one, for the codes of NULLs.
    pub(crate) fn dictionary(&self) -> BinaryViewArray {
        if self.distinct.len() == 0 {
            return BinaryViewArray::from_iter_values([b""]);
        }
        self.distinct.strings(self.written)
    }
}

/// The codes in `width` bytes each, which must be enough.
fn code_bytes(codes: &[u32], width: usize) -> Vec<u8> {
    match width {
        1 => codes.iter().map(|&code| code as u8).collect(),
        2 => codes.iter().flat_map(|&code| (code as u16).to_le_bytes()).collect(),
        _ => codes.iter().flat_map(|&code| code.to_le_bytes()).collect(),
    }
}

/// Bytes that `code` needs.
fn width(code: u32) -> usize {
    match code {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}
