//! Writes rows in binary form.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, RecordBatch};
use arrow::buffer::NullBuffer;
use basalt_base::{Columns, Error, Result, SqlType};

use crate::binary::{fixed_of_array, fixed_width, write_string, write_varint};
use crate::block::BlockWriter;
use crate::header::Header;

/// Writes a result as RowBinary.
pub(crate) struct RowBinaryWriter {
    pub(crate) columns: Columns,
    pub(crate) header: Header,
}

impl BlockWriter for RowBinaryWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        if self.header == Header::None {
            return;
        }
        write_varint(self.columns.len() as u64, out);
        self.columns.iter().for_each(|column| write_string(column.name.as_bytes(), out));
        if self.header == Header::NamesAndTypes {
            self.columns.iter().for_each(|column| write_string(column.ty.to_string().as_bytes(), out));
        }
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        if self.columns.len() != batch.num_columns() {
            let what =
                format!("a batch of {} columns was given as {}", batch.num_columns(), self.columns.len());
            return Err(Error::logical(what));
        }
        let pairs = self.columns.iter().zip(batch.columns());
        let values: Vec<Values<'_>> =
            pairs.map(|(column, array)| Values::of_column(&column.ty, array)).collect::<Result<_>>()?;
        for row in 0..batch.num_rows() {
            values.iter().for_each(|values| values.write(row, out));
        }
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }
}

/// The values of a column.
struct Values<'a> {
    /// `None` if the type has no NULL.
    nulls: Option<Option<NullBuffer>>,
    shape: Shape<'a>,
}

enum Shape<'a> {
    Fixed { values: Cow<'a, [u8]>, width: usize },
    String(&'a BinaryViewArray),
    Empty,
    List { offsets: &'a [i32], elements: Vec<Values<'a>> },
    Tuple(Vec<Values<'a>>),
}

impl<'a> Values<'a> {
    fn of_column(ty: &SqlType, array: &'a ArrayRef) -> Result<Values<'a>> {
        if *array.data_type() != ty.carrier() {
            return Err(Error::logical(format!("an array of {} was given as {ty}", array.data_type())));
        }
        Values::new(ty, array)
    }

    fn new(ty: &SqlType, array: &'a ArrayRef) -> Result<Values<'a>> {
        let inner = ty.stripped();
        let shape = match inner {
            SqlType::String => Shape::String(array.as_binary_view()),
            SqlType::Nothing => Shape::Empty,
            SqlType::Array(element) => {
                let list = array.as_list::<i32>();
                let elements = vec![Values::new(element, list.values())?];
                Shape::List { offsets: list.value_offsets(), elements }
            }
            SqlType::Map(key, value) => {
                let list = array.as_list::<i32>();
                let entries = list.values().as_struct();
                let elements =
                    vec![Values::new(key, entries.column(0))?, Values::new(value, entries.column(1))?];
                Shape::List { offsets: list.value_offsets(), elements }
            }
            SqlType::Tuple(elements) => {
                let pairs = elements.iter().zip(array.as_struct().columns());
                let values = pairs.map(|(element, column)| Values::new(&element.ty, column));
                Shape::Tuple(values.collect::<Result<_>>()?)
            }
            fixed => match fixed_width(fixed) {
                Some(width) => Shape::Fixed { values: fixed_of_array(fixed, array.as_ref()), width },
                None => return Err(Error::not_implemented(format!("writing type {fixed} as RowBinary"))),
            },
        };
        let has_nulls = ty.accepts_null() && *ty != SqlType::Nothing;
        Ok(Values { nulls: has_nulls.then(|| array.logical_nulls()), shape })
    }

    #[inline]
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        if let Some(nulls) = &self.nulls {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            out.push(u8::from(is_null));
            if is_null {
                return;
            }
        }
        match &self.shape {
            Shape::Fixed { values, width } => match width {
                1 => out.push(values[row]),
                2 => out.extend_from_slice(&values.as_chunks::<2>().0[row]),
                4 => out.extend_from_slice(&values.as_chunks::<4>().0[row]),
                8 => out.extend_from_slice(&values.as_chunks::<8>().0[row]),
                16 => out.extend_from_slice(&values.as_chunks::<16>().0[row]),
                &other => out.extend_from_slice(&values[row * other..][..other]),
            },
            Shape::String(strings) => write_string(strings.value(row), out),
            Shape::Empty => {}
            Shape::List { offsets, elements } => {
                let bounds = offsets[row] as usize..offsets[row + 1] as usize;
                write_varint(bounds.len() as u64, out);
                for at in bounds {
                    elements.iter().for_each(|element| element.write(at, out));
                }
            }
            Shape::Tuple(elements) => elements.iter().for_each(|element| element.write(row, out)),
        }
    }
}
