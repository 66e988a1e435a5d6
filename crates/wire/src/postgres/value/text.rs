//! One value as PostgreSQL writes it in text.

use basalt_formats::text::{
    Style, write_date, write_decimal, write_float32, write_float64, write_integer, write_ipv4, write_ipv6,
    write_uuid,
};

use super::column::{ColumnValues, Values, wide};
use super::time::put_instant;
use crate::postgres::array_text::put_element;
use crate::postgres::oid;

impl ColumnValues {
    /// Appends the value in `row`, which is not NULL.
    pub(in crate::postgres) fn put_text(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            Values::Bool(array) => out.push(if array.value(row) { b't' } else { b'f' }),
            Values::Integer(values) => write_integer(values[row], out),
            Values::UInt64(values) => write_integer(values[row], out),
            Values::Float32(values) => {
                put_float(f64::from(values[row]), out, |out| write_float32(values[row], out))
            }
            Values::Float64(values) => put_float(values[row], out, |out| write_float64(values[row], out)),
            Values::Decimal128(array, scale) => write_decimal(wide(array.value(row)), *scale, true, out),
            Values::Decimal256(array, scale) => write_decimal(array.value(row), *scale, true, out),
            Values::Date(days) => write_date(i32::try_from(days[row]).unwrap_or(i32::MAX), out),
            Values::Time { ticks, precision, zone } => put_instant(ticks[row], *precision, *zone, out),
            Values::Wide(array, wide) => wide.decode(array.value(row)).write(out),
            Values::Uuid(array) => write_uuid(array.value(row), out),
            Values::Ipv4(values) => write_ipv4(u32::try_from(values[row]).unwrap_or(0), out),
            Values::Ipv6(array) => write_ipv6(array.value(row), out),
            Values::String(array) => out.extend_from_slice(array.value(row)),
            Values::Array { offsets, elements } => {
                let (start, end) = (offsets.value_offsets()[row], offsets.value_offsets()[row + 1]);
                let rows = index(start)..index(end);
                match self.oid {
                    oid::INT2VECTOR | oid::OIDVECTOR => elements.put_vector(rows, out),
                    _ => elements.put_array(rows, out),
                }
            }
            Values::Written(writer) => writer.write(row, Style::Raw, out),
        }
    }

    /// Values with blanks between them.
    fn put_vector(&self, rows: std::ops::Range<usize>, out: &mut Vec<u8>) {
        for (position, row) in rows.enumerate() {
            if position > 0 {
                out.push(b' ');
            }
            self.put_text(row, out);
        }
    }

    fn put_array(&self, rows: std::ops::Range<usize>, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut element = Vec::new();
        for (position, row) in rows.enumerate() {
            if position > 0 {
                out.push(b',');
            }
            if self.is_null(row) {
                out.extend_from_slice(b"NULL");
            } else if matches!(self.values, Values::Array { .. }) {
                self.put_text(row, out);
            } else {
                element.clear();
                self.put_text(row, &mut element);
                put_element(&element, out);
            }
        }
        out.push(b'}');
    }
}

/// An offset of a list, which Arrow has checked.
pub(super) fn index(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(0)
}

fn put_float(value: f64, out: &mut Vec<u8>, finite: impl FnOnce(&mut Vec<u8>)) {
    match value {
        value if value.is_nan() => out.extend_from_slice(b"NaN"),
        f64::INFINITY => out.extend_from_slice(b"Infinity"),
        f64::NEG_INFINITY => out.extend_from_slice(b"-Infinity"),
        _ => finite(out),
    }
}
