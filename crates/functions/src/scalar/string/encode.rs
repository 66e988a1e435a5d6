//! `hex`, `unhex`, `bin`, `unbin`, `base64Encode`, `base64Decode`, `tryBase64Decode`, `char`, `ascii`: bytes as text.
//!
//! Syntax: `hex(x)`. Strings are written byte by byte; integers and dates with the highest byte first and without
//! leading zero bytes; floats and decimals in their memory order. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array};
use arrow::datatypes::Int64Type;
use basalt_base::{Error, Result, SqlType, bail};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, PAD};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::memory::Memory;
use crate::scalar::operand::{Bytes, build_strings, nulls_of, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static HEX: Definition =
    Definition::new("hex", Arity::Exactly(1), |call| bind_digits(call, write_hex)).case_insensitive();

pub(super) static BIN: Definition = Definition::new("bin", Arity::Exactly(1), |call| {
    bind_digits(call, |byte, out| out.extend((0..8).rev().map(|bit| b'0' + (byte >> bit & 1))))
})
.case_insensitive();

pub(super) static UNHEX: Definition = Definition::new("unhex", Arity::Exactly(1), |call| {
    bind_text(call, |text, out| {
        read_digits(text, 2, 16, hex_digit, out);
        Ok(())
    })
})
.case_insensitive();

pub(super) static UNBIN: Definition = Definition::new("unbin", Arity::Exactly(1), |call| {
    bind_text(call, |text, out| {
        // Any character but zero is a one.
        read_digits(text, 8, 2, |byte| u32::from(byte != b'0'), out);
        Ok(())
    })
})
.case_insensitive();

pub(super) static BASE64_ENCODE: Definition = Definition::new("base64Encode", Arity::Exactly(1), |call| {
    bind_text(call, |text, out| {
        encode_base64(text, out);
        Ok(())
    })
})
.aliases(&["TO_BASE64"])
.case_insensitive();

pub(super) static BASE64_DECODE: Definition = Definition::new("base64Decode", Arity::Exactly(1), |call| {
    bind_text(call, |text, out| {
        if decode_base64(text, out).is_none() {
            bail!(IncorrectData, "`{}` is not base64", String::from_utf8_lossy(text));
        }
        Ok(())
    })
})
.aliases(&["FROM_BASE64"])
.case_insensitive();

pub(super) static TRY_BASE64_DECODE: Definition =
    Definition::new("tryBase64Decode", Arity::Exactly(1), |call| {
        bind_text(call, |text, out| {
            if decode_base64(text, out).is_none() {
                out.clear();
            }
            Ok(())
        })
    });

pub(super) static CHAR: Definition = Definition::new("char", Arity::AtLeast(1), |call| {
    (0..call.len()).try_for_each(|index| call.expect_number(index))?;
    Ok(Bound::of(SqlType::String, |args: &[Operand], rows| {
        let codes = args.iter().map(Operand::numbers::<Int64Type>).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(build_strings(rows_needed(args, rows), |row, out| {
            out.extend(codes.iter().map(|codes| codes.get(row) as u8));
            Ok(())
        })?))
    }))
})
.case_insensitive();

pub(super) static ASCII: Definition = Definition::new("ascii", Arity::Exactly(1), |call| {
    call.expect_string(0)?;
    Ok(Bound::of(SqlType::Int32, |args: &[Operand], _| {
        let texts = Bytes::of(&args[0].array)?;
        let first = |row| texts.get(row).first().map_or(0, |&byte| i32::from(byte));
        Ok(Arc::new(Int32Array::from_iter_values((0..args[0].array.len()).map(first))))
    }))
})
.case_insensitive();

fn bind_text(call: &Call<'_>, map: fn(&[u8], &mut Vec<u8>) -> Result<()>) -> Result<Bound> {
    call.expect_string(0)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let texts = args[0].bytes()?;
        let nulls = nulls_of(args, rows);
        Ok(Arc::new(build_strings(rows, |row, out| {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                Ok(())
            } else {
                map(texts.get(row), out)
            }
        })?))
    }))
}

/// The order in which the bytes of a value are written.
#[derive(Clone, Copy)]
enum Order {
    AsTheyAre,
    /// The highest byte first, without leading zero bytes except the last one.
    HighestFirst,
    /// The two words of a UUID, each with its highest byte first.
    Words,
}

fn bind_digits(call: &Call<'_>, write: fn(u8, &mut Vec<u8>)) -> Result<Bound> {
    let ty = call.ty(0).clone();
    let order = match &ty {
        SqlType::String
        | SqlType::FixedString(_)
        | SqlType::Ipv6
        | SqlType::Float32
        | SqlType::Float64
        | SqlType::Decimal { .. } => Order::AsTheyAre,
        SqlType::Uuid => Order::Words,
        integer if integer.is_whole() || integer.is_date_or_time() => Order::HighestFirst,
        SqlType::Bool | SqlType::Ipv4 | SqlType::Enum8(_) | SqlType::Enum16(_) => Order::HighestFirst,
        _ => return Err(call.illegal(0)),
    };
    Ok(Bound::of(SqlType::String, move |args: &[Operand], _| {
        let array: &ArrayRef = &args[0].array;
        let memory = Memory::of(&ty, array)?.ok_or_else(|| Error::logical("a value without bytes"))?;
        Ok(Arc::new(build_strings(array.len(), |row, out| {
            let bytes = memory.get(row);
            match order {
                Order::AsTheyAre => bytes.iter().for_each(|&byte| write(byte, out)),
                Order::Words => {
                    bytes[..8].iter().rev().chain(bytes[8..].iter().rev()).for_each(|&byte| write(byte, out));
                }
                Order::HighestFirst => {
                    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
                    bytes[..end].iter().rev().for_each(|&byte| write(byte, out));
                }
            }
            Ok(())
        })?))
    }))
}

fn write_hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

/// A character that is no digit has a value too, as in ClickHouse.
fn hex_digit(byte: u8) -> u32 {
    char::from(byte).to_digit(16).unwrap_or(u32::from(u8::MAX))
}

/// Bytes of `width` digits each; missing digits are leading zeroes.
fn read_digits(text: &[u8], width: usize, base: u32, digit: impl Fn(u8) -> u32, out: &mut Vec<u8>) {
    let (first, rest) = text.split_at(text.len() % width);
    if !first.is_empty() {
        out.push(first.iter().fold(0, |value, &byte| value * base + digit(byte)) as u8);
    }
    out.extend(rest.chunks(width).map(|chunk| {
        chunk.iter().fold(0_u32, |value, &byte| value.wrapping_mul(base).wrapping_add(digit(byte))) as u8
    }));
}

/// The standard alphabet. Padding is required; unused bits of the last digit may be set, as in ClickHouse.
const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD.with_decode_allow_trailing_bits(true));

fn encode_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(BASE64.encode(bytes).as_bytes());
}

/// `None` if the text is not base64 with its padding; the contents of `out` are then undefined.
fn decode_base64(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    BASE64.decode_vec(text, out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_round_trips_and_refuses_garbage() {
        for length in 0..20_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(71)).collect();
            let (mut text, mut back) = (Vec::new(), Vec::new());
            encode_base64(&bytes, &mut text);
            assert_eq!(decode_base64(&text, &mut back), Some(()));
            assert_eq!(back, bytes);
        }
        for garbage in [&b"!!"[..], b"aGVsbG8", b"====", b"aG=s", b"aGk=aGk=", b"aGk=\n"] {
            assert_eq!(decode_base64(garbage, &mut Vec::new()), None);
        }
        // The unused bits of the last digit are set.
        let mut decoded = Vec::new();
        assert_eq!((decode_base64(b"aGl=", &mut decoded), &decoded[..]), (Some(()), &b"hi"[..]));
    }

    #[test]
    fn unhex_takes_odd_lengths_and_garbage() {
        let read = |text: &[u8]| {
            let mut out = Vec::new();
            read_digits(text, 2, 16, hex_digit, &mut out);
            out
        };
        assert_eq!((read(b"616263"), read(b"6"), read(b"zz")), (b"abc".to_vec(), vec![6], vec![0xef]));
    }
}
