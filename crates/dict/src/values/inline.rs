//! Narrow attributes, packed into the eight bytes of a payload, so that a lookup touches one place.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::MutableBuffer;
use arrow::datatypes::DataType;
use basalt_base::{Error, Result, processor};

use super::fixed::{fixed_array, fixed_bytes_of, fixed_width};
use super::packed::{Extent, Span};
use crate::attribute::Attribute;
use crate::image::{ImageReader, ImageWriter};
use crate::table::Hits;
use crate::table::bits::low_bits;

const PAYLOAD_BYTES_MAX: usize = size_of::<u64>();

#[derive(Clone)]
pub(crate) struct InlineValues {
    fields: Vec<Field>,
}

/// The place of an attribute in the payload.
#[derive(Clone)]
struct Field {
    carrier: DataType,
    shift_bits: u32,
    width: usize,
    default: u64,
    /// The place of its packed bits; `None` while it has whole bytes.
    packed: Option<PackedField>,
}

#[derive(Clone, Copy)]
struct PackedField {
    shift_bits: u32,
    span: Span,
}

impl InlineValues {
    /// `None` if an attribute may be NULL or has no fixed width, or if all of them are too wide.
    pub(crate) fn new(attributes: &[Attribute]) -> Option<InlineValues> {
        let mut bytes = 0;
        let mut fields = Vec::new();
        for attribute in attributes {
            let carrier = attribute.default.data_type().clone();
            let width = fixed_width(&carrier).filter(|&width| width > 0)?;
            if attribute.ty.accepts_null() || bytes + width > PAYLOAD_BYTES_MAX {
                return None;
            }
            let default = word(&fixed_bytes_of(&attribute.default, width));
            fields.push(Field { carrier, shift_bits: 8 * bytes as u32, width, default, packed: None });
            bytes += width;
        }
        Some(InlineValues { fields })
    }

    pub(super) fn payload_bytes(&self) -> usize {
        self.fields.iter().map(|field| field.width).sum()
    }

    pub(crate) fn payloads(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
        let mut payloads = vec![0; rows];
        for (field, column) in self.fields.iter().zip(columns) {
            if column.len() != rows {
                return Err(Error::logical("columns of one block differ in length"));
            }
            let bytes = fixed_bytes_of(column, field.width);
            match field.width {
                1 => insert::<1>(field, &bytes, &mut payloads),
                2 => insert::<2>(field, &bytes, &mut payloads),
                4 => insert::<4>(field, &bytes, &mut payloads),
                8 => insert::<8>(field, &bytes, &mut payloads),
                _ => insert_odd(field, &bytes, &mut payloads),
            }
        }
        Ok(payloads)
    }

    /// Gives each attribute the bits that its extent needs, and returns their sum. From now on, the payloads of hits
    /// must be those of [`InlineValues::packed`].
    pub(crate) fn pack(&mut self, extents: &[Extent]) -> u32 {
        let mut shift_bits = 0;
        for (field, &extent) in self.fields.iter_mut().zip(extents) {
            let span = Span::within(&field.carrier, field.width, extent);
            field.packed = Some(PackedField { shift_bits, span });
            shift_bits += span.bits();
        }
        shift_bits
    }

    /// Widens `extents`, one for each attribute, to include these payloads of whole bytes.
    pub(crate) fn widen(&self, extents: &mut Vec<Extent>, payloads: &[u64]) {
        extents.resize(self.fields.len(), Extent::default());
        for (field, extent) in self.fields.iter().zip(extents) {
            let values = payloads.iter().map(|&payload| field.value(payload));
            extent.widen(&field.carrier, field.width, values);
        }
    }

    /// The bits of a packed payload; `None` while that is not decided.
    pub(crate) fn packed_bits(&self) -> Option<u32> {
        self.fields.iter().map(|field| field.packed.map(|packed| packed.span.bits())).sum()
    }

    /// A payload of whole bytes, in the bits that [`InlineValues::pack`] decided on.
    pub(crate) fn packed(&self, payload: u64) -> u64 {
        let parts = self.fields.iter().filter_map(|field| {
            let packed = field.packed?;
            // Without bits, the shift could be by 64.
            Some(packed.span.pack(field.value(payload)).checked_shl(packed.shift_bits).unwrap_or(0))
        });
        parts.fold(0, |all, part| all | part)
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) {
        for field in &self.fields {
            image.flag(field.packed.is_some());
            if let Some(packed) = field.packed {
                image.number(u64::from(packed.shift_bits));
                packed.span.save(image);
            }
        }
    }

    pub(super) fn open(mut self, image: &mut ImageReader<'_>) -> Result<InlineValues> {
        for field in &mut self.fields {
            if image.flag()? {
                let shift_bits = image.number_below(u64::from(u64::BITS) + 1)? as u32;
                field.packed = Some(PackedField { shift_bits, span: Span::open(image)? });
            }
        }
        Ok(self)
    }

    pub(super) fn get(&self, attribute: usize, hits: &Hits) -> Result<ArrayRef> {
        let field = &self.fields[attribute];
        let mut out = MutableBuffer::with_capacity(hits.payloads.len() * field.width);
        if let Some(packed) = field.packed {
            match field.width {
                1 => unpack::<1>(field, packed, hits, &mut out),
                2 => unpack::<2>(field, packed, hits, &mut out),
                4 => unpack::<4>(field, packed, hits, &mut out),
                8 => unpack::<8>(field, packed, hits, &mut out),
                _ => unpack_odd(field, packed, hits, &mut out),
            }
            return fixed_array(&field.carrier, out, None);
        }
        match field.width {
            1 => extract::<1>(field, hits, &mut out),
            2 => extract::<2>(field, hits, &mut out),
            4 => extract::<4>(field, hits, &mut out),
            8 => extract::<8>(field, hits, &mut out),
            _ => extract_odd(field, hits, &mut out),
        }
        fixed_array(&field.carrier, out, None)
    }
}

impl PackedField {
    /// The bytes of the attribute from the packed bits of a payload.
    #[inline(always)]
    fn value(self, payload: u64) -> u64 {
        let bits = payload.checked_shr(self.shift_bits).unwrap_or(0) & low_bits(self.span.bits());
        self.span.unpack(bits)
    }
}

impl Field {
    /// The bytes of the attribute in a payload of whole bytes.
    #[inline(always)]
    fn value(&self, payload: u64) -> u64 {
        payload >> self.shift_bits & low_bits(8 * self.width as u32)
    }
}

fn insert<const WIDTH: usize>(field: &Field, bytes: &[u8], payloads: &mut [u64]) {
    for (payload, value) in payloads.iter_mut().zip(bytes.as_chunks::<WIDTH>().0) {
        *payload |= word(value) << field.shift_bits;
    }
}

fn insert_odd(field: &Field, bytes: &[u8], payloads: &mut [u64]) {
    for (payload, value) in payloads.iter_mut().zip(bytes.chunks_exact(field.width)) {
        *payload |= word(value) << field.shift_bits;
    }
}

fn extract<const WIDTH: usize>(field: &Field, hits: &Hits, out: &mut MutableBuffer) {
    out.resize(hits.payloads.len() * WIDTH, 0);
    let (values, _) = out.as_slice_mut().as_chunks_mut::<WIDTH>();
    let &Field { shift_bits, default, .. } = field;
    processor::run(
        #[inline(always)]
        || {
            for ((value, &payload), &found) in values.iter_mut().zip(&hits.payloads).zip(&hits.found) {
                let number = either(found, payload >> shift_bits, default);
                value.copy_from_slice(&number.to_le_bytes()[..WIDTH]);
            }
        },
    );
}

fn extract_odd(field: &Field, hits: &Hits, out: &mut MutableBuffer) {
    for (&payload, &found) in hits.payloads.iter().zip(&hits.found) {
        let value = if found { payload >> field.shift_bits } else { field.default };
        out.extend_from_slice(&value.to_le_bytes()[..field.width]);
    }
}

fn unpack<const WIDTH: usize>(field: &Field, packed: PackedField, hits: &Hits, out: &mut MutableBuffer) {
    out.resize(hits.payloads.len() * WIDTH, 0);
    let (values, _) = out.as_slice_mut().as_chunks_mut::<WIDTH>();
    let default = field.default;
    processor::run(
        #[inline(always)]
        || {
            for ((value, &payload), &found) in values.iter_mut().zip(&hits.payloads).zip(&hits.found) {
                let number = either(found, packed.value(payload), default);
                value.copy_from_slice(&number.to_le_bytes()[..WIDTH]);
            }
        },
    );
}

fn unpack_odd(field: &Field, packed: PackedField, hits: &Hits, out: &mut MutableBuffer) {
    for (&payload, &found) in hits.payloads.iter().zip(&hits.found) {
        let number = if found { packed.value(payload) } else { field.default };
        out.extend_from_slice(&number.to_le_bytes()[..field.width]);
    }
}

/// The value that was found, or the default, without a branch, which would often be mispredicted.
#[inline(always)]
fn either(is_found: bool, found: u64, default: u64) -> u64 {
    let mask = u64::from(is_found).wrapping_neg();
    found & mask | default & !mask
}

/// At most eight bytes as a number.
#[inline(always)]
fn word(value: &[u8]) -> u64 {
    let mut bytes = [0; PAYLOAD_BYTES_MAX];
    bytes[..value.len()].copy_from_slice(value);
    u64::from_le_bytes(bytes)
}
