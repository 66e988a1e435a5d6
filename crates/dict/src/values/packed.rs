//! Numbers packed to the bits that they need: the difference of each to the smallest one.

use arrow::array::ArrayRef;
use arrow::buffer::MutableBuffer;
use arrow::datatypes::DataType;
use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::Bitmap;
use super::fixed::{FixedColumn, fixed_array, null_buffer};
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;
use crate::table::bits::{PADDING_BYTES, get, low_bits, packed_bytes, put};

/// How many rows ahead of its use a number is prefetched.
const AHEAD: usize = 24;
const NUMBER_BYTES_MAX: usize = size_of::<u64>();

/// The bits of numbers between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    least: u64,
    bits: u32,
    /// The sign bit of signed numbers, flipped so that they are ordered like unsigned ones.
    sign: u64,
}

impl Span {
    /// The span of values of `carrier`, which has `width` bytes, as unsigned numbers.
    pub(crate) fn of(carrier: &DataType, width: usize, values: impl Iterator<Item = u64>) -> Span {
        let mut extent = Extent::default();
        extent.widen(carrier, width, values);
        Span::within(carrier, width, extent)
    }

    /// The span of an extent.
    pub(crate) fn within(carrier: &DataType, width: usize, Extent { least, most }: Extent) -> Span {
        let bits = u64::BITS - most.saturating_sub(least).leading_zeros();
        Span { least: least.min(most), bits, sign: sign(carrier, width) }
    }

    pub(crate) fn bits(self) -> u32 {
        self.bits
    }

    pub(crate) fn save(self, image: &mut ImageWriter<'_>) {
        [self.least, u64::from(self.bits), self.sign].into_iter().for_each(|number| image.number(number));
    }

    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<Span> {
        let least = image.number()?;
        let bits = image.number_below(u64::from(u64::BITS) + 1)? as u32;
        Ok(Span { least, bits, sign: image.number()? })
    }

    #[inline(always)]
    pub(crate) fn pack(self, value: u64) -> u64 {
        (value ^ self.sign).wrapping_sub(self.least)
    }

    #[inline(always)]
    pub(crate) fn unpack(self, packed: u64) -> u64 {
        packed.wrapping_add(self.least) ^ self.sign
    }
}

/// The least and the greatest number, in the order of a [`Span`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    least: u64,
    most: u64,
}

impl Extent {
    pub(crate) fn widen(&mut self, carrier: &DataType, width: usize, values: impl Iterator<Item = u64>) {
        let sign = sign(carrier, width);
        for value in values {
            self.least = self.least.min(value ^ sign);
            self.most = self.most.max(value ^ sign);
        }
    }

    /// The extent of both.
    pub(crate) fn join(self, other: Extent) -> Extent {
        Extent { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

impl Default for Extent {
    /// The extent of no numbers.
    fn default() -> Extent {
        Extent { least: u64::MAX, most: 0 }
    }
}

/// The bit that orders numbers of `carrier` as unsigned ones.
fn sign(carrier: &DataType, width: usize) -> u64 {
    if is_signed(carrier) { 1 << (8 * width - 1) } else { 0 }
}

/// Numbers of a [`Span`] by position.
#[derive(Debug)]
pub(crate) struct PackedNumbers {
    bytes: Section,
    span: Span,
}

impl PackedNumbers {
    /// `len` numbers. `numbers` returns the same ones each time that it is called.
    pub(crate) fn new<I: Iterator<Item = u64>>(
        carrier: &DataType,
        width: usize,
        len: usize,
        numbers: impl Fn() -> I,
    ) -> Result<PackedNumbers> {
        let span = Span::of(carrier, width, numbers());
        let Some(bytes) = packed_bytes(len, span.bits) else {
            return Err(Error::new(ErrorCode::CannotAllocateMemory, "a dictionary with this many rows"));
        };
        let mut region = Region::zeroed(bytes)?;
        for (row, number) in numbers().enumerate() {
            put(&mut region, row as u64 * u64::from(span.bits), span.pack(number));
        }
        Ok(PackedNumbers { bytes: region.into(), span })
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: u64) -> u64 {
        let at = row.wrapping_mul(u64::from(self.span.bits));
        self.span.unpack(get(&self.bytes, at, low_bits(self.span.bits)))
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, row: u64) {
        prefetch_read(&self.bytes, (row.wrapping_mul(u64::from(self.span.bits)) >> 3) as usize);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.resident_bytes()
    }

    pub(crate) fn check(&self, row: u64) -> Result<()> {
        let at = (row.wrapping_mul(u64::from(self.span.bits)) >> 3) as usize;
        self.bytes.check(at..at.saturating_add(PADDING_BYTES))
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.span.save(image);
        image.section(&self.bytes)
    }

    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<PackedNumbers> {
        let span = Span::open(image)?;
        Ok(PackedNumbers { bytes: image.section()?, span })
    }
}

/// An attribute of at most eight bytes.
#[derive(Debug)]
pub(super) struct PackedColumn {
    carrier: DataType,
    width: usize,
    numbers: PackedNumbers,
    valid: Option<Bitmap>,
    default: u64,
    default_is_null: bool,
}

impl PackedColumn {
    /// The rows `order` of a column, in that order; `None` if its values are too wide.
    pub(super) fn of(column: &FixedColumn, order: &[u32]) -> Result<Option<PackedColumn>> {
        let width = column.width();
        if width > NUMBER_BYTES_MAX {
            return Ok(None);
        }
        // The value of a NULL does not count: it needs no bits.
        let any = order.iter().copied().find(|&row| column.is_valid(row as usize));
        let number = |&row: &u32| {
            let row = if column.is_valid(row as usize) { row } else { any.unwrap_or(row) };
            word(column.value(row as usize))
        };
        let numbers = PackedNumbers::new(column.carrier(), width, order.len(), || order.iter().map(number))?;
        Ok(Some(PackedColumn {
            carrier: column.carrier().clone(),
            width,
            numbers,
            valid: column.valid_in(order),
            default: word(column.default_bytes()),
            default_is_null: column.default_is_null(),
        }))
    }

    pub(super) fn get(&self, hits: &Hits) -> Result<ArrayRef> {
        let mut out = MutableBuffer::with_capacity(hits.payloads.len() * self.width);
        for (index, (&row, &found)) in hits.payloads.iter().zip(&hits.found).enumerate() {
            if let Some(&ahead) = hits.payloads.get(index + AHEAD) {
                self.numbers.prefetch(ahead);
            }
            let value = if found { self.numbers.get(row) } else { self.default };
            out.extend_from_slice(&value.to_le_bytes()[..self.width]);
        }
        fixed_array(&self.carrier, out, null_buffer(self.valid.as_ref(), self.default_is_null, hits))
    }

    pub(super) fn check(&self, hits: &Hits) -> Result<()> {
        for row in hits.found_payloads() {
            self.numbers.check(row)?;
            self.valid.as_ref().map_or(Ok(()), |valid| valid.check(row as usize))?;
        }
        Ok(())
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.numbers.save(image)?;
        Bitmap::save_optional(self.valid.as_ref(), image)
    }

    /// Opens the rows of `column`, which is empty, that [`PackedColumn::save`] wrote.
    pub(super) fn open(column: &FixedColumn, image: &mut ImageReader<'_>) -> Result<PackedColumn> {
        if column.width() > NUMBER_BYTES_MAX {
            return Err(ImageReader::unfit());
        }
        Ok(PackedColumn {
            carrier: column.carrier().clone(),
            width: column.width(),
            numbers: PackedNumbers::open(image)?,
            valid: Bitmap::open_optional(image)?,
            default: word(column.default_bytes()),
            default_is_null: column.default_is_null(),
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.numbers.heap_bytes() + self.valid.as_ref().map_or(0, Bitmap::heap_bytes)
    }
}

/// Whether values of the type are signed numbers.
fn is_signed(carrier: &DataType) -> bool {
    use DataType::*;
    matches!(
        carrier,
        Int8 | Int16 | Int32 | Int64 | Date32 | Date64 | Timestamp(..) | Decimal32(..) | Decimal64(..)
    )
}

/// At most eight bytes as a number.
fn word(value: &[u8]) -> u64 {
    let mut bytes = [0; NUMBER_BYTES_MAX];
    bytes[..value.len()].copy_from_slice(value);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back_and_take_the_bits_that_they_need(
            least in any::<i64>(), steps in prop::collection::vec(0..1000_i64, 0..200),
        ) {
            let numbers: Vec<u64> = steps.iter().map(|step| least.saturating_add(*step) as u64).collect();
            let packed = PackedNumbers::new(&DataType::Int64, 8, numbers.len(), || numbers.iter().copied());
            let packed = packed.expect("memory");
            prop_assert!(packed.span.bits() <= 10);
            for (row, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(packed.get(row as u64), number);
            }
        }
    }

    #[test]
    fn numbers_of_the_whole_range_take_all_bits() {
        let numbers = [i64::MIN as u64, 0, u64::MAX, i64::MAX as u64];
        let packed = PackedNumbers::new(&DataType::Int64, 8, 4, || numbers.iter().copied()).expect("memory");
        assert_eq!(packed.span.bits(), 64);
        assert_eq!([0, 1, 2, 3].map(|row| packed.get(row)), numbers);
    }
}
