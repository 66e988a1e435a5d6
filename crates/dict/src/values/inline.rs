//! Narrow attributes packed into the eight bytes of a payload, so that a lookup touches one place.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::MutableBuffer;
use arrow::datatypes::DataType;
use basalt_base::{Error, Result};

use super::fixed::{fixed_array, fixed_bytes_of, fixed_width};
use crate::dictionary::Attribute;
use crate::table::Hits;

const PAYLOAD_BYTES_MAX: usize = size_of::<u64>();

pub(crate) struct InlineValues {
    fields: Vec<Field>,
}

/// One attribute's place in the payload.
struct Field {
    carrier: DataType,
    shift_bits: u32,
    width: usize,
    default: u64,
}

impl InlineValues {
    /// `None` if an attribute may be NULL or has no fixed width, or all together are too wide.
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
            fields.push(Field { carrier, shift_bits: 8 * bytes as u32, width, default });
            bytes += width;
        }
        Some(InlineValues { fields })
    }

    pub(super) fn payload_bytes(&self) -> usize {
        self.fields.iter().map(|field| field.width).sum()
    }

    pub(super) fn payloads(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
        let mut payloads = vec![0; rows];
        for (field, column) in self.fields.iter().zip(columns) {
            if column.len() != rows {
                return Err(Error::logical("columns of one block differ in length"));
            }
            let bytes = fixed_bytes_of(column, field.width);
            for (payload, value) in payloads.iter_mut().zip(bytes.chunks_exact(field.width)) {
                *payload |= word(value) << field.shift_bits;
            }
        }
        Ok(payloads)
    }

    pub(super) fn get(&self, attribute: usize, hits: &Hits) -> Result<ArrayRef> {
        let field = &self.fields[attribute];
        let mut out = MutableBuffer::with_capacity(hits.payloads.len() * field.width);
        match field.width {
            1 => unpack::<1>(field, hits, &mut out),
            2 => unpack::<2>(field, hits, &mut out),
            4 => unpack::<4>(field, hits, &mut out),
            8 => unpack::<8>(field, hits, &mut out),
            width => unpack_odd(field, width, hits, &mut out),
        }
        fixed_array(&field.carrier, out, None)
    }
}

fn unpack<const WIDTH: usize>(field: &Field, hits: &Hits, out: &mut MutableBuffer) {
    for (&payload, &found) in hits.payloads.iter().zip(&hits.found) {
        let value = if found { payload >> field.shift_bits } else { field.default };
        out.extend_from_slice(&value.to_le_bytes()[..WIDTH]);
    }
}

fn unpack_odd(field: &Field, width: usize, hits: &Hits, out: &mut MutableBuffer) {
    for (&payload, &found) in hits.payloads.iter().zip(&hits.found) {
        let value = if found { payload >> field.shift_bits } else { field.default };
        out.extend_from_slice(&value.to_le_bytes()[..width]);
    }
}

/// At most eight bytes as a number, zeroes above them.
#[inline(always)]
fn word(value: &[u8]) -> u64 {
    let mut bytes = [0; PAYLOAD_BYTES_MAX];
    bytes[..value.len()].copy_from_slice(value);
    u64::from_le_bytes(bytes)
}
