//! One value in PostgreSQL's binary form.

use std::ops::Range;

use basalt_base::{Error, ErrorCode, Result};
use basalt_formats::text::{write_decimal, write_integer};

use super::column::{ColumnValues, Values, wide};
use super::text::index;
use super::time::since_2000;
use crate::postgres::numeric::put_numeric;
use crate::postgres::oid;

/// 2000-01-01 in days since 1970-01-01.
const EPOCH_DAYS: i64 = 10_957;

/// Families of addresses.
const INET: u8 = 2;
const INET6: u8 = 3;

impl ColumnValues {
    /// Appends the value in `row`, which is not NULL.
    pub(in crate::postgres) fn put_binary(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match &self.values {
            Values::Bool(array) => out.push(u8::from(array.value(row))),
            Values::Integer(values) => self.put_integer(values[row], out),
            Values::UInt64(values) => put_decimal(|text| write_integer(values[row], text), out),
            Values::Float32(values) => out.extend_from_slice(&values[row].to_be_bytes()),
            Values::Float64(values) => out.extend_from_slice(&values[row].to_be_bytes()),
            Values::Decimal128(array, scale) => {
                put_decimal(|text| write_decimal(wide(array.value(row)), *scale, true, text), out);
            }
            Values::Decimal256(array, scale) => {
                put_decimal(|text| write_decimal(array.value(row), *scale, true, text), out);
            }
            Values::Date(days) => out.extend_from_slice(&((days[row] - EPOCH_DAYS) as i32).to_be_bytes()),
            Values::Time { ticks, precision, .. } => {
                out.extend_from_slice(&since_2000(ticks[row], *precision).to_be_bytes());
            }
            Values::Wide(array, wide) => {
                put_decimal(|text| wide.decode(array.value(row)).write(text), out);
            }
            Values::Uuid(array) => out.extend_from_slice(array.value(row)),
            Values::Ipv4(values) => put_address(INET, &(values[row] as u32).to_be_bytes(), out),
            Values::Ipv6(array) => put_address(INET6, array.value(row), out),
            Values::Array { offsets, elements } => {
                let (start, end) = (offsets.value_offsets()[row], offsets.value_offsets()[row + 1]);
                elements.put_binary_array(index(start)..index(end), out)?;
            }
            Values::String(_) | Values::Written(_) => self.put_text(row, out),
        }
        Ok(())
    }

    fn put_integer(&self, value: i64, out: &mut Vec<u8>) {
        match self.oid {
            oid::INT2 => out.extend_from_slice(&(value as i16).to_be_bytes()),
            oid::INT8 => out.extend_from_slice(&value.to_be_bytes()),
            // Numbers of objects are unsigned, and have four bytes too.
            _ => out.extend_from_slice(&(value as i32).to_be_bytes()),
        }
    }

    /// The number of dimensions, whether there are NULLs, the type of the elements, each dimension, the elements.
    fn put_binary_array(&self, rows: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        let mut dimensions = vec![rows.len()];
        let innermost = self.dimensions(rows.clone(), 1, &mut dimensions)?;
        if dimensions.contains(&0) {
            dimensions.clear();
        }
        let mut elements = Vec::new();
        let has_null = match dimensions.is_empty() {
            true => false,
            false => self.put_elements(rows, &mut elements)?,
        };
        for number in [dimensions.len() as u32, u32::from(has_null), innermost] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        for length in dimensions {
            out.extend_from_slice(&(length as u32).to_be_bytes());
            // The first subscript.
            out.extend_from_slice(&1_u32.to_be_bytes());
        }
        out.extend_from_slice(&elements);
        Ok(())
    }

    /// Fills in the lengths below `depth`. Returns the type of the innermost elements.
    fn dimensions(&self, rows: Range<usize>, depth: usize, lengths: &mut Vec<usize>) -> Result<u32> {
        let Values::Array { offsets, elements } = &self.values else { return Ok(self.oid) };
        let mut innermost = elements.innermost();
        for row in rows {
            let inner = index(offsets.value_offsets()[row])..index(offsets.value_offsets()[row + 1]);
            match lengths.get(depth) {
                None => lengths.push(inner.len()),
                Some(length) if *length == inner.len() => {}
                Some(_) => return Err(jagged()),
            }
            innermost = elements.dimensions(inner, depth + 1, lengths)?;
        }
        Ok(innermost)
    }

    fn innermost(&self) -> u32 {
        match &self.values {
            Values::Array { elements, .. } => elements.innermost(),
            _ => self.oid,
        }
    }

    /// Whether there is a NULL.
    fn put_elements(&self, rows: Range<usize>, out: &mut Vec<u8>) -> Result<bool> {
        let mut has_null = false;
        for row in rows {
            if let Values::Array { offsets, elements } = &self.values {
                let inner = index(offsets.value_offsets()[row])..index(offsets.value_offsets()[row + 1]);
                has_null |= elements.put_elements(inner, out)?;
            } else {
                has_null |= self.is_null(row);
                self.put_binary_value(row, out)?;
            }
        }
        Ok(has_null)
    }

    /// Appends the length and the value, or the mark of NULL.
    pub(in crate::postgres) fn put_binary_value(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.is_null(row) {
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            return Ok(());
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        self.put_binary(row, out)?;
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

fn put_decimal(write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let mut text = Vec::new();
    write(&mut text);
    put_numeric(&text, out);
}

fn put_address(family: u8, address: &[u8], out: &mut Vec<u8>) {
    let (bytes, is_network) = (address.len() as u8, 0);
    out.extend_from_slice(&[family, bytes * 8, is_network, bytes]);
    out.extend_from_slice(address);
}

fn jagged() -> Error {
    let what = "an array whose rows have different lengths has no binary form in PostgreSQL; ask for it as text, or \
                convert it with toString";
    Error::new(ErrorCode::TypeMismatch, what)
}
