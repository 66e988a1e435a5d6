//! Attributes whose values have the same width: bytes without padding, and a bitmap of NULLs.

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, BooleanArray, make_array};
use arrow::buffer::{BooleanBuffer, MutableBuffer, NullBuffer};
use arrow::datatypes::DataType;
use basalt_base::prefetch::prefetch_read;
use basalt_base::{Error, Result};

use super::{Bitmap, Bytes, split_row};
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;

/// How many rows ahead of its use a value is prefetched.
const AHEAD: usize = 24;

#[derive(Debug)]
pub(super) struct FixedColumn {
    carrier: DataType,
    width: usize,
    bytes: Bytes,
    /// A bit for each row that is not NULL; `None` while there was no NULL.
    valid: Option<Bitmap>,
    default: Vec<u8>,
    default_is_null: bool,
}

/// The bytes of each value of this Arrow type; `None` if widths differ or the type is nested.
pub(crate) fn fixed_width(carrier: &DataType) -> Option<usize> {
    match carrier {
        DataType::Boolean => Some(1),
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
        other => other.primitive_width(),
    }
}

/// The values of an array with a [`fixed_width`], without padding. A NULL has any value.
pub(crate) fn fixed_bytes_of(array: &ArrayRef, width: usize) -> Vec<u8> {
    if let Some(booleans) = array.as_boolean_opt() {
        return booleans.values().iter().map(u8::from).collect();
    }
    let data = array.to_data();
    let (from, len) = (data.offset() * width, data.len() * width);
    data.buffers()[0].as_slice()[from..from + len].to_vec()
}

/// The array of `carrier` that [`fixed_bytes_of`] turns into `bytes`.
pub(crate) fn fixed_array(
    carrier: &DataType,
    bytes: MutableBuffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    if *carrier == DataType::Boolean {
        let values = BooleanBuffer::collect_bool(bytes.len(), |index| bytes.as_slice()[index] != 0);
        return Ok(std::sync::Arc::new(BooleanArray::new(values, nulls)));
    }
    let width = fixed_width(carrier).filter(|&width| width > 0);
    let width = width.ok_or_else(|| Error::logical(format!("{carrier} has no fixed width")))?;
    let data = ArrayData::builder(carrier.clone())
        .len(bytes.len() / width)
        .add_buffer(bytes.into())
        .nulls(nulls)
        .build()
        .map_err(|error| Error::logical(format!("a column of {carrier} does not fit together: {error}")))?;
    Ok(make_array(data))
}

impl FixedColumn {
    /// A column of `default`'s type, or `None` if that type has no fixed width.
    pub(super) fn new(default: &ArrayRef) -> Option<FixedColumn> {
        let width = fixed_width(default.data_type()).filter(|&width| width > 0)?;
        Some(FixedColumn {
            carrier: default.data_type().clone(),
            width,
            bytes: Bytes::default(),
            valid: None,
            default: fixed_bytes_of(default, width),
            default_is_null: default.is_null(0),
        })
    }

    fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    pub(super) fn carrier(&self) -> &DataType {
        &self.carrier
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn default_bytes(&self) -> &[u8] {
        &self.default
    }

    pub(super) fn default_is_null(&self) -> bool {
        self.default_is_null
    }

    pub(super) fn value(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.width..][..self.width]
    }

    pub(super) fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.get(row))
    }

    /// Which of the rows `order` are not NULL, in that order; `None` if all are.
    pub(super) fn valid_in(&self, order: &[u32]) -> Option<Bitmap> {
        self.valid.as_ref().map(|valid| select_bits(valid, order))
    }

    /// Keeps the rows `order`, in that order.
    pub(super) fn select(&mut self, order: &[u32]) {
        let mut selected = Bytes::with_capacity(order.len() * self.width);
        let bytes = selected.to_mut();
        order.iter().for_each(|&row| bytes.extend_from_slice(self.value(row as usize)));
        self.valid = self.valid_in(order);
        self.bytes = selected;
    }

    pub(super) fn push(&mut self, array: &ArrayRef) {
        let before = self.len();
        self.bytes.to_mut().extend_from_slice(&fixed_bytes_of(array, self.width));
        if self.valid.is_none() && array.null_count() > 0 {
            let mut valid = Bitmap::default();
            (0..before).for_each(|_| valid.push(true));
            self.valid = Some(valid);
        }
        if let Some(valid) = &mut self.valid {
            (0..array.len()).for_each(|row| valid.push(array.is_valid(row)));
        }
    }

    pub(super) fn get(&self, hits: &Hits) -> Result<ArrayRef> {
        let mut out = MutableBuffer::with_capacity(hits.payloads.len() * self.width);
        match self.width {
            1 => gather::<1>(&self.bytes, &self.default, hits, &mut out),
            2 => gather::<2>(&self.bytes, &self.default, hits, &mut out),
            4 => gather::<4>(&self.bytes, &self.default, hits, &mut out),
            8 => gather::<8>(&self.bytes, &self.default, hits, &mut out),
            16 => gather::<16>(&self.bytes, &self.default, hits, &mut out),
            width => gather_wide(&self.bytes, &self.default, width, hits, &mut out),
        }
        fixed_array(&self.carrier, out, self.nulls(hits))
    }

    /// As [`FixedColumn::get`], for rows in several columns, which are selected by the row's number ([`split_row`]).
    pub(super) fn get_of(columns: &[&FixedColumn], hits: &Hits) -> Result<ArrayRef> {
        let Some(FixedColumn { carrier, width, default, default_is_null, .. }) = columns.first() else {
            return Err(Error::logical("a column of no segments"));
        };
        let mut out = MutableBuffer::with_capacity(hits.payloads.len() * width);
        match width {
            1 => gather_of::<1>(columns, default, hits, &mut out),
            2 => gather_of::<2>(columns, default, hits, &mut out),
            4 => gather_of::<4>(columns, default, hits, &mut out),
            8 => gather_of::<8>(columns, default, hits, &mut out),
            16 => gather_of::<16>(columns, default, hits, &mut out),
            _ => {
                for (&row, &found) in hits.payloads.iter().zip(&hits.found) {
                    let (segment, row) = split_row(columns.len(), row);
                    out.extend_from_slice(if found { columns[segment].value(row) } else { default });
                }
            }
        }
        let valid: Vec<Option<&Bitmap>> = columns.iter().map(|column| column.valid.as_ref()).collect();
        fixed_array(carrier, out, null_buffer_of(&valid, *default_is_null, hits))
    }

    fn nulls(&self, hits: &Hits) -> Option<NullBuffer> {
        null_buffer(self.valid.as_ref(), self.default_is_null, hits)
    }

    pub(super) fn retain(&mut self, alive: &Bitmap) {
        let mut kept = Bytes::with_capacity(alive.count() * self.width);
        let bytes = kept.to_mut();
        for row in alive.ones() {
            bytes.extend_from_slice(&self.bytes[row * self.width..][..self.width]);
        }
        self.bytes = kept;
        self.valid = self.valid.take().map(|valid| retain_bits(&valid, alive));
    }

    pub(super) fn check(&self, hits: &Hits) -> Result<()> {
        for row in hits.found_payloads().map(|row| row as usize) {
            self.bytes.check(row * self.width..(row + 1) * self.width)?;
            self.valid.as_ref().map_or(Ok(()), |valid| valid.check(row))?;
        }
        Ok(())
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.section(&self.bytes)?;
        Bitmap::save_optional(self.valid.as_ref(), image)
    }

    /// Opens the column of `rows` that [`FixedColumn::save`] wrote, in place of an empty one.
    pub(super) fn open(self, rows: usize, image: &mut ImageReader<'_>) -> Result<FixedColumn> {
        let bytes = Bytes::Shared(image.section_of(rows.checked_mul(self.width))?);
        Ok(FixedColumn { bytes, valid: Bitmap::open_optional(image)?, ..self })
    }

    pub(super) fn shrink(&mut self) {
        self.bytes.shrink();
        self.valid.iter_mut().for_each(Bitmap::shrink);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes() + self.valid.as_ref().map_or(0, Bitmap::heap_bytes)
    }
}

/// The null mask of the values of `hits`, or `None` if none of them is NULL.
pub(super) fn null_buffer(valid: Option<&Bitmap>, default_is_null: bool, hits: &Hits) -> Option<NullBuffer> {
    null_buffer_of(&[valid], default_is_null, hits)
}

/// The null mask of values in [segments](split_row).
pub(super) fn null_buffer_of(
    valid: &[Option<&Bitmap>],
    default_is_null: bool,
    hits: &Hits,
) -> Option<NullBuffer> {
    if valid.iter().all(Option::is_none) && !default_is_null {
        return None;
    }
    let is_valid = |index: usize| {
        let (segment, row) = split_row(valid.len(), hits.payloads[index]);
        match hits.found[index] {
            true => valid[segment].is_none_or(|valid| valid.get(row)),
            false => !default_is_null,
        }
    };
    let nulls = NullBuffer::new(BooleanBuffer::collect_bool(hits.found.len(), is_valid));
    (nulls.null_count() > 0).then_some(nulls)
}

/// The bits of `bits` at the set positions of `alive`.
pub(super) fn retain_bits(bits: &Bitmap, alive: &Bitmap) -> Bitmap {
    let mut kept = Bitmap::default();
    alive.ones().for_each(|row| kept.push(bits.get(row)));
    kept
}

/// The bits of `bits` at `order`.
pub(super) fn select_bits(bits: &Bitmap, order: &[u32]) -> Bitmap {
    let mut selected = Bitmap::default();
    order.iter().for_each(|&row| selected.push(bits.get(row as usize)));
    selected.shrink();
    selected
}

fn gather<const WIDTH: usize>(bytes: &[u8], default: &[u8], hits: &Hits, out: &mut MutableBuffer) {
    let (values, _) = bytes.as_chunks::<WIDTH>();
    for (index, (&row, &found)) in hits.payloads.iter().zip(&hits.found).enumerate() {
        if let Some(&ahead) = hits.payloads.get(index + AHEAD) {
            prefetch_read(values, ahead as usize);
        }
        let value = if found { values[row as usize].as_slice() } else { default };
        out.extend_from_slice(&value[..WIDTH]);
    }
}

fn gather_of<const WIDTH: usize>(
    columns: &[&FixedColumn],
    default: &[u8],
    hits: &Hits,
    out: &mut MutableBuffer,
) {
    let segments: Vec<&[[u8; WIDTH]]> = columns.iter().map(|column| column.bytes.as_chunks().0).collect();
    for (index, (&row, &found)) in hits.payloads.iter().zip(&hits.found).enumerate() {
        if let Some(&ahead) = hits.payloads.get(index + AHEAD) {
            let (segment, row) = split_row(segments.len(), ahead);
            prefetch_read(segments[segment], row);
        }
        let (segment, row) = split_row(segments.len(), row);
        let value = if found { segments[segment][row].as_slice() } else { default };
        out.extend_from_slice(&value[..WIDTH]);
    }
}

fn gather_wide(bytes: &[u8], default: &[u8], width: usize, hits: &Hits, out: &mut MutableBuffer) {
    for (&row, &found) in hits.payloads.iter().zip(&hits.found) {
        out.extend_from_slice(if found { &bytes[row as usize * width..][..width] } else { default });
    }
}
