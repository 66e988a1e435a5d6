//! Values of which few are distinct, as codes: the positions of their values in a sorted list.
//!
//! # Layout
//!
//! The numbers and the section of an array of packed codes; the distinct values are a column store of their own, the
//! nested component `values`. A column with one distinct value has codes of no bits; its encoding is called
//! `constant`.
//!
//! # Invariants
//!
//! The distinct values are in memory. A code is compared with their count before it is used.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::datatypes::DataType;
use basalt_base::string_views::gather;
use basalt_base::{Error, Result, query};

use super::array_value::append_array_value;
use super::image::append_images;
use super::store::{ColumnStore, OpenNested, StoreBuilder, StringStore};
use crate::bits::array::{PackedArray, PackedArrayBuilder};
use crate::bits::packed::bits_of;
use crate::file::{ComponentReader, PendingComponent, SpoolPlace};
use crate::{Place, Rank};

pub(super) const ENCODING: &str = "codes";
/// The encoding of one distinct value.
pub(super) const CONSTANT: &str = "constant";
/// The name of the nested component.
pub(super) const VALUES: &str = "values";

/// Rows between checks of the query.
const CHECKED_ROWS: usize = 4096;
/// The most distinct values that a file may have, which are read when it is opened.
const VALUES_MAX: u32 = 1 << 20;

/// The bits of a code.
pub(super) fn code_bits(distinct: usize) -> u32 {
    bits_of(distinct.saturating_sub(1) as u64)
}

/// The encoding of so many distinct values.
pub(super) fn encoding(distinct: usize) -> &'static str {
    if distinct == 1 { CONSTANT } else { ENCODING }
}

/// The code of each value.
enum Dictionary {
    Images(HashMap<u64, u32>),
    Bytes(HashMap<Box<[u8]>, u32>),
}

pub(super) struct CodesBuilder {
    component: PendingComponent,
    codes: PackedArrayBuilder,
    dictionary: Dictionary,
    values: Vec<PendingComponent>,
    images: Vec<u64>,
    /// The image of the last value.
    last: u64,
}

impl CodesBuilder {
    /// `images` are all images of the column, in order, and at least one; `values` the store of their values.
    pub(super) fn of_images(
        component: PendingComponent,
        images: &[u64],
        values: Vec<PendingComponent>,
        place: &SpoolPlace,
    ) -> CodesBuilder {
        let last = images.first().copied().unwrap_or(0);
        let dictionary = Dictionary::Images(images.iter().copied().zip(0..).collect());
        CodesBuilder { last, ..CodesBuilder::new(component, images.len(), dictionary, values, place) }
    }

    /// `strings` are all strings of the column, in order, and at least one; `values` their store.
    pub(super) fn of_bytes(
        component: PendingComponent,
        strings: Vec<Box<[u8]>>,
        values: Vec<PendingComponent>,
        place: &SpoolPlace,
    ) -> CodesBuilder {
        let count = strings.len();
        let dictionary = Dictionary::Bytes(strings.into_iter().zip(0..).collect());
        CodesBuilder::new(component, count, dictionary, values, place)
    }

    fn new(
        component: PendingComponent,
        count: usize,
        dictionary: Dictionary,
        values: Vec<PendingComponent>,
        place: &SpoolPlace,
    ) -> CodesBuilder {
        let codes = PackedArrayBuilder::new(code_bits(count), place);
        CodesBuilder { component, codes, dictionary, values, images: Vec::new(), last: 0 }
    }

    fn push_images(&mut self, values: &ArrayRef) -> Result<()> {
        self.images.clear();
        let all = append_images(values, self.last, &mut self.images)?;
        self.last = self.images.last().copied().unwrap_or(self.last);
        let Dictionary::Images(codes) = &self.dictionary else { return Err(unknown()) };
        for image in &self.images {
            let code = codes.get(image).filter(|_| all).ok_or_else(unknown)?;
            self.codes.push(u64::from(*code))?;
        }
        let width = values.data_type().primitive_width().unwrap_or(1);
        self.component.raw_bytes += (values.len() * width) as u64;
        Ok(())
    }

    fn push_strings<'a>(&mut self, strings: impl Iterator<Item = Option<&'a [u8]>>) -> Result<()> {
        let Dictionary::Bytes(codes) = &self.dictionary else { return Err(unknown()) };
        for string in strings {
            let code = match string {
                Some(string) => *codes.get(string).ok_or_else(unknown)?,
                None => 0,
            };
            self.codes.push(u64::from(code))?;
            self.component.raw_bytes += string.map_or(0, <[u8]>::len) as u64;
        }
        Ok(())
    }
}

impl StoreBuilder for CodesBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        for start in (0..values.len()).step_by(CHECKED_ROWS) {
            query::checkpoint()?;
            let values = values.slice(start, (values.len() - start).min(CHECKED_ROWS));
            match (&self.dictionary, values.as_binary_view_opt()) {
                (Dictionary::Images(_), _) => self.push_images(&values)?,
                (Dictionary::Bytes(_), Some(strings)) => self.push_strings(strings.iter())?,
                (Dictionary::Bytes(_), None) => {
                    let strings = values.as_fixed_size_binary_opt().ok_or_else(unknown)?;
                    self.push_strings(strings.iter())?;
                }
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = self.component;
        self.codes.finish(&mut component)?;
        Ok(std::iter::once(component).chain(self.values).collect())
    }
}

#[derive(Debug)]
pub(super) struct Codes {
    codes: PackedArray,
    /// The distinct values.
    values: ArrayRef,
    stored_bytes: u64,
    place: Place,
}

impl Codes {
    pub(super) fn open(
        component: &mut ComponentReader<'_>,
        data_type: &DataType,
        nested: OpenNested<'_>,
    ) -> Result<Codes> {
        let codes = PackedArray::open(component)?;
        let values = nested(VALUES, data_type)?;
        let place = component.place().clone();
        let count = values.len();
        if count > VALUES_MAX || (count == 0 && codes.len() > 0) {
            return Err(place.corrupt(format!("codes of {count} values")));
        }
        let stored_bytes = codes.bytes() as u64 + values.stored_bytes();
        Ok(Codes { codes, values: values.scan(0..count)?, stored_bytes, place })
    }

    /// The code of `rank`, less than the number of values.
    #[inline]
    fn code(&self, rank: Rank) -> Result<usize> {
        let code = code(self.codes.get(rank, &mut Vec::new())?);
        if code as usize >= self.values.len() { Err(self.no_code(code)) } else { Ok(code as usize) }
    }

    #[cold]
    fn no_code(&self, code: u32) -> Error {
        self.place.corrupt(format!("the code {code} of {} values", self.values.len()))
    }

    /// The values of codes, which are compared with their count.
    fn values_of(&self, codes: Vec<u32>) -> Result<ArrayRef> {
        let count = self.values.len();
        if let Some(code) = codes.iter().find(|&&code| code as usize >= count) {
            return Err(self.no_code(*code));
        }
        match self.values.as_binary_view_opt() {
            Some(strings) => Ok(Arc::new(gather(strings, &codes, None))),
            None => {
                arrow::compute::take(&self.values, &UInt32Array::from(codes), None).map_err(Error::logical)
            }
        }
    }
}

/// A code of a file, whose bits may be more than those of any code.
fn code(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl ColumnStore for Codes {
    fn len(&self) -> u32 {
        self.codes.len()
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        let (mut codes, mut buffer) = (Vec::with_capacity(ranks.len()), Vec::new());
        for ranks in ranks.chunks(CHECKED_ROWS) {
            query::checkpoint()?;
            for &rank in ranks {
                codes.push(code(self.codes.get(rank, &mut buffer)?));
            }
        }
        self.values_of(codes)
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        let mut codes = Vec::with_capacity(ranks.len().min(self.codes.len() as usize));
        self.codes.each_stretch(ranks, |numbers| {
            codes.extend(numbers.iter().map(|&number| code(number)));
            Ok(())
        })?;
        self.values_of(codes)
    }

    fn append_value(&self, rank: Rank, out: &mut Vec<u8>) -> Result<bool> {
        append_array_value(&self.values, self.code(rank)?, out)
    }

    fn as_strings(&self) -> Option<&dyn StringStore> {
        self.values.as_binary_view_opt().map(|_| self as &dyn StringStore)
    }

    fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }
}

impl StringStore for Codes {
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        self.append_value(rank, out).map(|_| ())
    }
}

#[cold]
fn unknown() -> Error {
    Error::logical("a value is not one of those that the sample has seen")
}
