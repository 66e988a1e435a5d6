//! Encodes keys as bytes in the order of their values, so that ranges and prefixes of keys are ranges of bytes.
//!
//! # Layout
//!
//! The key columns one after the other:
//!
//! ```text
//! unsigned, Date, DateTime, IPv4    big-endian
//! signed, DateTime64, Decimal, Enum big-endian, sign bit flipped
//! Float32, Float64                  big-endian; sign bit flipped, or all bits if it was set
//! Bool, UUID, IPv6, FixedString     their bytes
//! String                            its bytes with 00 as 00 FF, then 00 00; in the last column unescaped
//! Nullable                          a byte before the value: 0, or 1 for NULL, which has no further bytes
//! ```
//!
//! # Invariants
//!
//! - **Ordered**: `encode(a) < encode(b)` if and only if `a < b`, column by column; NULL is last, NaN is greater
//!   than every number.
//! - **One key, one encoding**: `-0.0` is stored as `0.0`, and there is one NaN, because they are equal.
//! - **Prefix-free**: no encoding of some key columns is a prefix of another one.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use basalt_base::{Error, Result, SqlType, bail};

use crate::columns::{ColumnBuilder, ColumnReader, Cursor, fixed_width};
use crate::error::Corrupt;

const IS_VALUE: u8 = 0;
const IS_NULL: u8 = 1;
const ESCAPED_ZERO: [u8; 2] = [0x00, 0xff];
const STRING_END: [u8; 2] = [0x00, 0x00];
/// The widest value whose bytes are reversed: Decimal256.
const TURNED_BYTES_MAX: usize = 32;
const SIGN: u8 = 0x80;

/// Encodes and decodes the keys of a table.
#[derive(Clone, Debug)]
pub struct KeyEncoder {
    parts: Vec<KeyPart>,
}

#[derive(Clone, Debug)]
struct KeyPart {
    ty: SqlType,
    form: Form,
    nullable: bool,
}

/// The encoding of a key column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Unsigned(usize),
    Signed(usize),
    Float(usize),
    Bytes(usize),
    Boolean,
    String,
}

/// Encoded keys of a block.
#[derive(Debug, Default)]
pub struct EncodedKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl EncodedKeys {
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }
}

impl KeyEncoder {
    pub fn new<'a>(types: impl Iterator<Item = &'a SqlType>) -> Result<KeyEncoder> {
        let part =
            |ty: &SqlType| Ok(KeyPart { ty: ty.clone(), form: Form::of(ty)?, nullable: ty.accepts_null() });
        Ok(KeyEncoder { parts: types.map(part).collect::<Result<_>>()? })
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The number of columns of the key.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Encodes the keys of a block. Fewer columns than the key has give prefixes of keys.
    pub fn encode(&self, columns: &[ArrayRef]) -> Result<EncodedKeys> {
        if columns.is_empty() || columns.len() > self.parts.len() {
            bail!(
                NumberOfColumnsDoesntMatch,
                "the key has {} columns, not {}",
                self.parts.len(),
                columns.len()
            );
        }
        let mut readers = Vec::with_capacity(columns.len());
        for (part, column) in self.parts.iter().zip(columns) {
            part.check(column)?;
            readers.push(ColumnReader::new(column, part.nullable)?);
        }
        let rows = columns[0].len();
        if columns.iter().any(|column| column.len() != rows) {
            return Err(Error::logical("key columns differ in length"));
        }
        let mut keys = EncodedKeys::default();
        keys.ends.reserve_exact(rows);
        for row in 0..rows {
            for (position, (part, reader)) in self.parts.iter().zip(&readers).enumerate() {
                part.encode(reader, row, position + 1 == self.parts.len(), &mut keys.bytes);
            }
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }

    /// Appends a key to `out`. Of each column there are the bytes of the value: those of a string, or of a number in
    /// little-endian order; `None` for NULL.
    pub fn encode_one(&self, values: &[Option<&[u8]>], out: &mut Vec<u8>) -> Result<()> {
        if values.len() != self.parts.len() {
            bail!(
                NumberOfColumnsDoesntMatch,
                "the key has {} columns, not {}",
                self.parts.len(),
                values.len()
            );
        }
        for (position, (part, value)) in self.parts.iter().zip(values).enumerate() {
            part.check_value(*value)?;
            part.encode_value(*value, position + 1 == self.parts.len(), out);
        }
        Ok(())
    }

    /// Decodes the columns of a key into the builders that `targets` names.
    pub fn decode(
        &self,
        key: &[u8],
        targets: &[Option<usize>],
        builders: &mut [ColumnBuilder],
    ) -> Result<(), Corrupt> {
        let mut cursor = Cursor::new(key);
        for (position, (part, target)) in self.parts.iter().zip(targets).enumerate() {
            let builder = target.map(|target| &mut builders[target]);
            if position + 1 == self.parts.len() && part.form == Form::String {
                return part.decode_last_string(cursor, builder);
            }
            part.decode(&mut cursor, builder)?;
        }
        match cursor.remaining() {
            0 => Ok(()),
            left => Err(Corrupt::Trailing { left }),
        }
    }
}

impl Form {
    /// The bytes of a value, if all have as many.
    fn width(self) -> Option<usize> {
        match self {
            Form::Boolean => Some(1),
            Form::Unsigned(width) | Form::Signed(width) | Form::Float(width) | Form::Bytes(width) => {
                Some(width)
            }
            Form::String => None,
        }
    }

    fn of(ty: &SqlType) -> Result<Form> {
        let plain = ty.stripped();
        let carrier = plain.carrier();
        Ok(match (plain, &carrier) {
            (SqlType::String, _) => Form::String,
            (SqlType::Bool, _) => Form::Boolean,
            (SqlType::FixedString(bytes), _) if *bytes > 0 => Form::Bytes(*bytes),
            (SqlType::Uuid | SqlType::Ipv6, _) => Form::Bytes(16),
            // The bytes of the carrier have the order of the numbers.
            (SqlType::Wide(wide), _) => Form::Bytes(wide.bytes()),
            (_, DataType::Float32) => Form::Float(4),
            (_, DataType::Float64) => Form::Float(8),
            (_, DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64) => {
                Form::Unsigned(fixed_width(&carrier).unwrap_or_default())
            }
            (
                _,
                DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::Decimal128(..)
                | DataType::Decimal256(..),
            ) => Form::Signed(fixed_width(&carrier).unwrap_or_default()),
            _ => {
                return Err(Error::not_implemented(format!(
                    "a primary key of type {ty} in a key/value table"
                )));
            }
        })
    }
}

impl KeyPart {
    fn check(&self, column: &ArrayRef) -> Result<()> {
        if *column.data_type() != self.ty.carrier() {
            bail!(TypeMismatch, "a key column is {}, not {}", column.data_type(), self.ty);
        }
        if column.null_count() > 0 && !self.nullable {
            bail!(CannotInsertNullInOrdinaryColumn, "a key of type {} cannot be NULL", self.ty);
        }
        Ok(())
    }

    /// An error if `value` has another width than the type.
    fn check_value(&self, value: Option<&[u8]>) -> Result<()> {
        let Some(value) = value else {
            if self.nullable {
                return Ok(());
            }
            bail!(CannotInsertNullInOrdinaryColumn, "a key of type {} cannot be NULL", self.ty);
        };
        match self.form.width() {
            Some(width) if width != value.len() => {
                bail!(TypeMismatch, "a key of type {} has {width} bytes, not {}", self.ty, value.len())
            }
            _ => Ok(()),
        }
    }

    fn encode(&self, reader: &ColumnReader<'_>, row: usize, is_last: bool, out: &mut Vec<u8>) {
        let flag = [u8::from(reader.boolean(row).unwrap_or_default())];
        let value = match self.form {
            _ if reader.is_null(row) => None,
            Form::Boolean => Some(&flag[..]),
            Form::String => reader.string(row),
            _ => reader.fixed(row),
        };
        self.encode_value(value, is_last, out);
    }

    #[inline]
    fn encode_value(&self, value: Option<&[u8]>, is_last: bool, out: &mut Vec<u8>) {
        if self.nullable {
            out.push(if value.is_some() { IS_VALUE } else { IS_NULL });
        }
        let Some(value) = value else { return };
        match self.form {
            Form::String if !is_last => escape(value, out),
            Form::Boolean | Form::String | Form::Bytes(_) => out.extend_from_slice(value),
            Form::Unsigned(_) | Form::Signed(_) | Form::Float(_) => self.form.turn(value, out),
        }
    }

    fn decode(&self, cursor: &mut Cursor<'_>, builder: Option<&mut ColumnBuilder>) -> Result<(), Corrupt> {
        if self.nullable && cursor.flag()? {
            builder.into_iter().for_each(ColumnBuilder::push_null);
            return Ok(());
        }
        match self.form {
            Form::Boolean => {
                let value = u8::from(cursor.flag()?);
                builder.into_iter().for_each(|builder| builder.push_fixed(&[value]));
            }
            Form::String => {
                let string = unescape(cursor)?;
                builder.into_iter().for_each(|builder| builder.push_string(&string));
            }
            Form::Bytes(width) => {
                let value = cursor.take(width)?;
                builder.into_iter().for_each(|builder| builder.push_fixed(value));
            }
            Form::Unsigned(width) | Form::Signed(width) | Form::Float(width) => {
                let mut value = [0; TURNED_BYTES_MAX];
                self.form.turn_back(cursor.take(width)?, &mut value[..width]);
                builder.into_iter().for_each(|builder| builder.push_fixed(&value[..width]));
            }
        }
        Ok(())
    }

    fn decode_last_string(
        &self,
        mut cursor: Cursor<'_>,
        builder: Option<&mut ColumnBuilder>,
    ) -> Result<(), Corrupt> {
        if self.nullable && cursor.flag()? {
            if cursor.remaining() > 0 {
                return Err(Corrupt::Trailing { left: cursor.remaining() });
            }
            builder.into_iter().for_each(ColumnBuilder::push_null);
            return Ok(());
        }
        let string = cursor.rest();
        builder.into_iter().for_each(|builder| builder.push_string(string));
        Ok(())
    }
}

impl Form {
    /// Turns the little-endian bytes of a number into bytes that sort by value.
    fn turn(self, value: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(value.iter().rev());
        let bytes = &mut out[start..];
        match self {
            Form::Signed(_) => bytes[0] ^= SIGN,
            Form::Float(_) => {
                make_float_unique(bytes);
                if bytes[0] & SIGN == 0 {
                    bytes[0] ^= SIGN;
                } else {
                    bytes.iter_mut().for_each(|byte| *byte = !*byte);
                }
            }
            _ => {}
        }
    }

    fn turn_back(self, bytes: &[u8], value: &mut [u8]) {
        for (to, from) in value.iter_mut().zip(bytes.iter().rev()) {
            *to = *from;
        }
        let Some(high) = value.last_mut() else { return };
        match self {
            Form::Signed(_) => *high ^= SIGN,
            Form::Float(_) if *high & SIGN != 0 => *high ^= SIGN,
            Form::Float(_) => value.iter_mut().for_each(|byte| *byte = !*byte),
            _ => {}
        }
    }
}

/// Normalizes a big-endian float: minus zero becomes zero, every NaN the positive quiet one.
fn make_float_unique(bytes: &mut [u8]) {
    let canonical = if let Ok(bits) = <[u8; 4]>::try_from(&*bytes) {
        let value = f32::from_be_bytes(bits);
        let value = if value.is_nan() { f32::NAN } else { value + 0.0 };
        value.to_be_bytes().to_vec()
    } else if let Ok(bits) = <[u8; 8]>::try_from(&*bytes) {
        let value = f64::from_be_bytes(bits);
        let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
        value.to_be_bytes().to_vec()
    } else {
        return;
    };
    bytes.copy_from_slice(&canonical);
}

fn escape(string: &[u8], out: &mut Vec<u8>) {
    for &byte in string {
        if byte == 0 {
            out.extend_from_slice(&ESCAPED_ZERO);
        } else {
            out.push(byte);
        }
    }
    out.extend_from_slice(&STRING_END);
}

fn unescape(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Corrupt> {
    let mut string = Vec::new();
    loop {
        let byte = cursor.byte()?;
        if byte != 0 {
            string.push(byte);
            continue;
        }
        match [byte, cursor.byte()?] {
            STRING_END => return Ok(string),
            ESCAPED_ZERO => string.push(0),
            _ => return Err(Corrupt::Escape),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, Decimal128Array, Float64Array, Int32Array, UInt64Array};
    use proptest::prelude::*;

    use super::*;

    type Key = (Option<i32>, Vec<u8>, f64, i128, u64, Vec<u8>);

    fn encoder() -> KeyEncoder {
        let types = [
            SqlType::Int32.into_nullable(),
            SqlType::String,
            SqlType::Float64,
            SqlType::Decimal { precision: 30, scale: 2 },
            SqlType::UInt64,
            SqlType::String,
        ];
        KeyEncoder::new(types.iter()).expect("key types")
    }

    fn arrays(keys: &[Key]) -> Vec<ArrayRef> {
        let decimals = Decimal128Array::from_iter_values(keys.iter().map(|key| key.3));
        vec![
            Arc::new(Int32Array::from_iter(keys.iter().map(|key| key.0))),
            Arc::new(BinaryViewArray::from_iter_values(keys.iter().map(|key| &key.1))),
            Arc::new(Float64Array::from_iter_values(keys.iter().map(|key| key.2))),
            Arc::new(decimals.with_precision_and_scale(30, 2).expect("a valid precision")),
            Arc::new(UInt64Array::from_iter_values(keys.iter().map(|key| key.4))),
            Arc::new(BinaryViewArray::from_iter_values(keys.iter().map(|key| &key.5))),
        ]
    }

    fn key() -> impl Strategy<Value = Key> {
        let float = prop_oneof![any::<f64>(), Just(0.0), Just(f64::INFINITY), Just(f64::NAN), -2.0..2.0];
        let text = || prop::collection::vec(prop_oneof![Just(0), Just(255), Just(1), any::<u8>()], 0..4);
        let number = prop_oneof![any::<i32>(), -2..2];
        (prop::option::of(number), text(), float, any::<i64>().prop_map(i128::from), any::<u64>(), text())
            .prop_map(|(id, text, float, decimal, number, last)| {
                let float = if float.is_nan() { f64::NAN } else { float + 0.0 };
                (id, text, float, decimal, number, last)
            })
    }

    /// The order of the values: NULL last.
    fn compare(left: &Key, right: &Key) -> Ordering {
        let number = (left.0.is_none(), left.0).cmp(&(right.0.is_none(), right.0));
        number
            .then_with(|| left.1.cmp(&right.1))
            .then_with(|| left.2.total_cmp(&right.2))
            .then_with(|| (left.3, left.4, &left.5).cmp(&(right.3, right.4, &right.5)))
    }

    fn decode(key: &[u8]) -> Result<Vec<ArrayRef>, Corrupt> {
        let encoder = encoder();
        let mut builders: Vec<ColumnBuilder> =
            encoder.parts.iter().map(|part| ColumnBuilder::new(&part.ty).expect("a key type")).collect();
        let targets: Vec<_> = (0..builders.len()).map(Some).collect();
        encoder.decode(key, &targets, &mut builders)?;
        Ok(builders.into_iter().map(|builder| builder.finish().expect("whole columns")).collect())
    }

    proptest! {
        #[test]
        fn byte_order_is_value_order(left in key(), right in key()) {
            let keys = encoder().encode(&arrays(&[left.clone(), right.clone()])).expect("valid keys");
            prop_assert_eq!(keys.get(0).cmp(keys.get(1)), compare(&left, &right));
        }

        #[test]
        fn equal_beginnings_leave_the_order_to_the_rest(left in key(), right in key(), same in 1..6_usize) {
            let mut right = right;
            if same > 0 { right.0 = left.0; }
            if same > 1 { right.1 = left.1.clone(); }
            if same > 2 { right.2 = left.2; }
            if same > 3 { right.3 = left.3; }
            if same > 4 { right.4 = left.4; }
            let keys = encoder().encode(&arrays(&[left.clone(), right.clone()])).expect("valid keys");
            prop_assert_eq!(keys.get(0).cmp(keys.get(1)), compare(&left, &right));
        }

        #[test]
        fn decode_undoes_encode(key in key()) {
            let keys = encoder().encode(&arrays(std::slice::from_ref(&key))).expect("valid keys");
            prop_assert_eq!(decode(keys.get(0)).expect("own bytes"), arrays(&[key]));
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn equal_floats_have_one_encoding() {
        let encoder = KeyEncoder::new([SqlType::Float64].iter()).expect("a key type");
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN]));
        let keys = encoder.encode(&[floats]).expect("valid keys");
        assert_eq!((keys.get(0), keys.get(2)), (keys.get(1), keys.get(3)));
    }

    #[test]
    fn a_null_key_needs_a_nullable_column() {
        let encoder = KeyEncoder::new([SqlType::UInt64].iter()).expect("a key type");
        let nulls: ArrayRef = Arc::new(UInt64Array::from(vec![None]));
        assert!(encoder.encode(&[nulls]).is_err());
    }
}
