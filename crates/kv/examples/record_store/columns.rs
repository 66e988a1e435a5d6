//! The columns of records as values of types: lines of text become arrays.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryViewBuilder, Float32Builder, RecordBatch, UInt32Builder};
use arrow::datatypes::DataType;
use basalt_base::{Column, Columns, SqlType};
use basalt_kv::encoding::KeyEncoder;

use crate::store::Result;

/// The most columns of a key.
const KEY_COLUMNS_MAX: usize = 8;

/// Columns in the order of the file.
pub(crate) struct Typed {
    pub(crate) columns: Columns,
}

impl Typed {
    /// The columns of a declaration such as `name String, time DateTime`.
    pub(crate) fn parse(declared: &str) -> Result<Typed> {
        let column = |part: &str| {
            let (name, ty) = part.trim().split_once(' ').ok_or("a column has a name and a type")?;
            Ok(Column::new(name, ty_of(ty)?))
        };
        let columns: Vec<Column> = declared.split(',').map(column).collect::<Result<_>>()?;
        Ok(Typed { columns: Columns::new(columns) })
    }

    /// Rows that can be filled.
    pub(crate) fn rows(&self) -> Rows {
        Rows { builders: self.columns.iter().map(|column| Builder::new(&column.ty)).collect(), count: 0 }
    }

    /// Appends the encoded key of the texts of its columns.
    pub(crate) fn encode_key(&self, texts: &[u8], encoder: &KeyEncoder, out: &mut Vec<u8>) -> Result<()> {
        let mut numbers = [[0; 4]; KEY_COLUMNS_MAX];
        let mut values = [None; KEY_COLUMNS_MAX];
        let texts = texts.split(|byte| *byte == b'\t');
        for ((column, text), (number, value)) in
            self.columns.iter().zip(texts).zip(numbers.iter_mut().zip(&mut values))
        {
            *number = match column.ty.carrier() {
                DataType::Float32 => std::str::from_utf8(text)?.parse::<f32>()?.to_le_bytes(),
                DataType::UInt32 => seconds(text).ok_or("a time is expected")?.to_le_bytes(),
                _ => {
                    *value = Some(text);
                    continue;
                }
            };
            *value = Some(&number[..]);
        }
        Ok(encoder.encode_one(&values[..self.columns.len()], out)?)
    }

    pub(crate) fn batch(&self, rows: &mut Rows) -> Result<RecordBatch> {
        rows.count = 0;
        let arrays = rows.builders.iter_mut().map(Builder::finish).collect();
        Ok(RecordBatch::try_new(self.columns.to_arrow(), arrays)?)
    }
}

fn ty_of(name: &str) -> Result<SqlType> {
    match name {
        "String" => Ok(SqlType::String),
        "Float32" => Ok(SqlType::Float32),
        "DateTime" => Ok(SqlType::DateTime(None)),
        other => Err(format!("columns of type `{other}` are not read here").into()),
    }
}

/// Rows in the making.
pub(crate) struct Rows {
    builders: Vec<Builder>,
    pub(crate) count: usize,
}

impl Rows {
    /// Adds a row of the texts of `key` and `value`.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let texts = key.split(|byte| *byte == b'\t').chain(value.split(|byte| *byte == b'\t'));
        for (builder, text) in self.builders.iter_mut().zip(texts) {
            builder.push(text)?;
        }
        self.count += 1;
        Ok(())
    }
}

/// Values of one column in the making.
enum Builder {
    Bytes(BinaryViewBuilder),
    Number(Float32Builder),
    Time(UInt32Builder),
}

impl Builder {
    fn new(ty: &SqlType) -> Builder {
        match ty.carrier() {
            DataType::Float32 => Builder::Number(Float32Builder::new()),
            DataType::UInt32 => Builder::Time(UInt32Builder::new()),
            _ => Builder::Bytes(BinaryViewBuilder::new()),
        }
    }

    fn push(&mut self, text: &[u8]) -> Result<()> {
        match self {
            Builder::Bytes(builder) => builder.append_value(text),
            Builder::Number(builder) => builder.append_value(std::str::from_utf8(text)?.parse()?),
            Builder::Time(builder) => builder.append_value(seconds(text).ok_or("a time is expected")?),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Bytes(builder) => Arc::new(builder.finish()),
            Builder::Number(builder) => Arc::new(builder.finish()),
            Builder::Time(builder) => Arc::new(builder.finish()),
        }
    }
}

/// Seconds from 1970 to a time such as 2003-01-14 09:30:00, in UTC.
fn seconds(text: &[u8]) -> Option<u32> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.iter().try_fold(0_u32, |sum, digit| Some(sum * 10 + u32::from(digit.checked_sub(b'0')?)))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    // Years begin in March, so that a leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    const DAYS_BEFORE_1970: u32 = 719_469;
    Some(
        days.checked_sub(DAYS_BEFORE_1970)? * 86_400
            + number(11, 13)? * 3600
            + number(14, 16)? * 60
            + number(17, 19)?,
    )
}

/// Bytes of the values of some rows.
pub(crate) fn bytes(array: &ArrayRef) -> u64 {
    match array.data_type() {
        DataType::BinaryView => array.as_binary_view().lengths().map(u64::from).sum(),
        other => (other.primitive_width().unwrap_or_default() * array.len()) as u64,
    }
}
