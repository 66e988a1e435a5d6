//! Writes the values of a column.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::OffsetBuffer;
use basalt_base::{Error, Result, SqlType};

use super::low_cardinality;
use crate::binary::{fixed_of_array, fixed_width, write_strings};

/// The value of a type without values.
const PLACEHOLDER: u8 = b'0';

/// Writes the values of `array`, which carries `ty` and has at least one, and what stands in front of them.
pub(super) fn write_column(ty: &SqlType, array: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    write_versions(ty, out);
    write_values(ty, array, out)
}

fn write_versions(ty: &SqlType, out: &mut Vec<u8>) {
    match ty {
        SqlType::LowCardinality(_) => low_cardinality::write_version(out),
        SqlType::Array(element) => write_versions(element, out),
        SqlType::Map(key, value) => {
            write_versions(key, out);
            write_versions(value, out);
        }
        SqlType::Tuple(elements) => elements.iter().for_each(|element| write_versions(&element.ty, out)),
        _ => {}
    }
}

fn write_values(ty: &SqlType, array: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    match ty {
        _ if array.is_empty() => {}
        SqlType::String => write_strings(array.as_binary_view(), out),
        SqlType::Nullable(inner) => {
            match array.logical_nulls() {
                Some(nulls) => out.extend(nulls.iter().map(|is_valid| u8::from(!is_valid))),
                None => out.resize(out.len() + array.len(), 0),
            }
            write_values(inner, array, out)?;
        }
        SqlType::LowCardinality(inner) => low_cardinality::write(inner, array, out)?,
        SqlType::Nothing => out.resize(out.len() + array.len(), PLACEHOLDER),
        SqlType::Array(element) => {
            let list = array.as_list::<i32>();
            let elements = write_offsets(list.offsets(), list.values(), out);
            write_values(element, &elements, out)?;
        }
        SqlType::Map(key, value) => {
            let list = array.as_list::<i32>();
            let entries = write_offsets(list.offsets(), list.values(), out);
            let entries = entries.as_struct();
            write_values(key, entries.column(0), out)?;
            write_values(value, entries.column(1), out)?;
        }
        SqlType::Tuple(elements) if elements.is_empty() => out.resize(out.len() + array.len(), PLACEHOLDER),
        SqlType::Tuple(elements) => {
            let columns = elements.iter().zip(array.as_struct().columns());
            for (element, column) in columns {
                write_values(&element.ty, column, out)?;
            }
        }
        fixed if fixed_width(fixed).is_some() => {
            out.extend_from_slice(&fixed_of_array(fixed, array.as_ref()))
        }
        other => return Err(Error::not_implemented(format!("writing type {other} as Native"))),
    }
    Ok(())
}

/// Writes the ends of the lists, and returns their elements.
fn write_offsets(offsets: &OffsetBuffer<i32>, elements: &ArrayRef, out: &mut Vec<u8>) -> ArrayRef {
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    out.extend(offsets[1..].iter().flat_map(|end| ((end - first) as u64).to_le_bytes()));
    elements.slice(first as usize, (last - first) as usize)
}
