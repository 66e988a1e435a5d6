//! `IPv4NumToString`, `IPv6StringToNum`, `isIPv4String` and the like: addresses as text and back.
//!
//! Syntax: `IPv4StringToNum(s)` is a UInt32, `IPv6StringToNum(s)` a FixedString(16). Invalid text is an error, NULL
//! in the `OrNull` forms, and the zero address in the `OrDefault` forms.

use std::sync::Arc;

use arrow::array::{Array, FixedSizeBinaryBuilder, UInt8Array, UInt32Builder};
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_formats::text::{IPV6_BYTES, parse_ipv6, parse_strict_ipv4, write_ipv4, write_ipv6};

use super::operands::{expect_ipv4, expect_ipv6, ipv4s, is_valid};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::build_strings;
use crate::scalar::{Arity, Bound, Operand};

pub(super) static IPV4_NUM_TO_STRING: Definition =
    Definition::new("IPv4NumToString", Arity::Exactly(1), |call| bind_ipv4_text(call, write_ipv4))
        .aliases(&["INET_NTOA"]);

pub(super) static IPV4_NUM_TO_STRING_CLASS_C: Definition =
    Definition::new("IPv4NumToStringClassC", Arity::Exactly(1), |call| {
        bind_ipv4_text(call, |address, out| {
            write_ipv4(address, out);
            let last = out.iter().rposition(|&byte| byte == b'.').map_or(0, |point| point + 1);
            out.truncate(last);
            out.extend_from_slice(b"xxx");
        })
    });

pub(super) static IPV6_NUM_TO_STRING: Definition =
    Definition::new("IPv6NumToString", Arity::Exactly(1), |call| {
        expect_ipv6(call, 0)?;
        Ok(Bound::of(SqlType::String, |args: &[Operand], _| {
            let bytes = args[0].bytes()?;
            let text = build_strings(args[0].array.len(), |row, out| {
                write_ipv6(bytes.get(row), out);
                Ok(())
            })?;
            Ok(Arc::new(text))
        }))
    })
    .aliases(&["INET6_NTOA"]);

/// The result for invalid text.
#[derive(Clone, Copy, PartialEq)]
enum Unread {
    Fails,
    Null,
    Default,
}

pub(super) static IPV4_STRING_TO_NUM: Definition =
    Definition::new("IPv4StringToNum", Arity::Exactly(1), |call| bind_ipv4(call, Unread::Fails))
        .aliases(&["INET_ATON"]);

pub(super) static IPV4_STRING_TO_NUM_OR_NULL: Definition =
    Definition::new("IPv4StringToNumOrNull", Arity::Exactly(1), |call| bind_ipv4(call, Unread::Null))
        .sees_null();

pub(super) static IPV4_STRING_TO_NUM_OR_DEFAULT: Definition =
    Definition::new("IPv4StringToNumOrDefault", Arity::Exactly(1), |call| bind_ipv4(call, Unread::Default));

pub(super) static IPV6_STRING_TO_NUM: Definition =
    Definition::new("IPv6StringToNum", Arity::Exactly(1), |call| bind_ipv6(call, Unread::Fails))
        .aliases(&["INET6_ATON"]);

pub(super) static IPV6_STRING_TO_NUM_OR_NULL: Definition =
    Definition::new("IPv6StringToNumOrNull", Arity::Exactly(1), |call| bind_ipv6(call, Unread::Null))
        .sees_null();

pub(super) static IPV6_STRING_TO_NUM_OR_DEFAULT: Definition =
    Definition::new("IPv6StringToNumOrDefault", Arity::Exactly(1), |call| bind_ipv6(call, Unread::Default));

pub(super) static IS_IPV4_STRING: Definition = Definition::new("isIPv4String", Arity::Exactly(1), |call| {
    bind_is(call, |text| parse_strict_ipv4(text).is_ok())
});

/// A plain IPv4 address does not count, although it can be parsed.
pub(super) static IS_IPV6_STRING: Definition = Definition::new("isIPv6String", Arity::Exactly(1), |call| {
    bind_is(call, |text| text.contains(&b':') && parse_ipv6(text).is_ok())
});

fn bind_ipv4_text(call: &Call<'_>, write: fn(u32, &mut Vec<u8>)) -> Result<Bound> {
    expect_ipv4(call, 0)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], _| {
        let mut addresses = ipv4s(&args[0], args[0].array.len())?;
        let text = build_strings(args[0].array.len(), |_, out| {
            write(addresses.next().unwrap_or_default(), out);
            Ok(())
        })?;
        Ok(Arc::new(text))
    }))
}

fn bind_ipv4(call: &Call<'_>, unread: Unread) -> Result<Bound> {
    expect_text(call)?;
    Ok(Bound::of(type_of(SqlType::UInt32, unread), move |args: &[Operand], _| {
        let mut numbers = UInt32Builder::with_capacity(args[0].array.len());
        for_each_address(&args[0], unread, parse_strict_ipv4, |address| {
            match address {
                Some(address) => numbers.append_value(address.unwrap_or_default()),
                None => numbers.append_null(),
            }
            Ok(())
        })?;
        Ok(Arc::new(numbers.finish()))
    }))
}

fn bind_ipv6(call: &Call<'_>, unread: Unread) -> Result<Bound> {
    expect_text(call)?;
    Ok(Bound::of(type_of(SqlType::FixedString(IPV6_BYTES), unread), move |args: &[Operand], _| {
        let mut addresses = FixedSizeBinaryBuilder::with_capacity(args[0].array.len(), IPV6_BYTES as i32);
        for_each_address(&args[0], unread, parse_strict_ipv6, |address| {
            match address {
                Some(address) => {
                    addresses.append_value(address.unwrap_or_default()).map_err(Error::logical)?
                }
                None => addresses.append_null(),
            }
            Ok(())
        })?;
        Ok(Arc::new(addresses.finish()))
    }))
}

/// A plain IPv4 address may have no leading zeroes.
fn parse_strict_ipv6(text: &[u8]) -> Result<[u8; IPV6_BYTES]> {
    if !text.contains(&b':') {
        parse_strict_ipv4(text).map_err(|error| Error::new(ErrorCode::CannotParseIpv6, error.message()))?;
    }
    parse_ipv6(text)
}

fn expect_text(call: &Call<'_>) -> Result<()> {
    let ty = call.ty(0).stripped();
    if ty.is_string() || *ty == SqlType::Nothing { Ok(()) } else { Err(call.illegal(0)) }
}

fn type_of(ty: SqlType, unread: Unread) -> SqlType {
    if unread == Unread::Null { ty.into_nullable() } else { ty }
}

/// Passes the address of each row to `push`: `None` for NULL, `Some(None)` for the default.
fn for_each_address<A>(
    operand: &Operand,
    unread: Unread,
    parse: fn(&[u8]) -> Result<A>,
    mut push: impl FnMut(Option<Option<A>>) -> Result<()>,
) -> Result<()> {
    let array = &operand.array;
    if array.logical_null_count() == array.len() {
        let nothing = || if unread == Unread::Null { None } else { Some(None) };
        return (0..array.len()).try_for_each(|_| push(nothing()));
    }
    let text = operand.bytes()?;
    for row in 0..array.len() {
        let address = is_valid(array, row).then(|| parse(without_padding(text.get(row))));
        push(match (address, unread) {
            (Some(Ok(address)), _) => Some(Some(address)),
            (Some(Err(error)), Unread::Fails) => return Err(error),
            (_, Unread::Null) => None,
            _ => Some(None),
        })?;
    }
    Ok(())
}

/// Trailing zero bytes of a FixedString are padding; addresses have none.
fn without_padding(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
}

fn bind_is(call: &Call<'_>, is: fn(&[u8]) -> bool) -> Result<Bound> {
    call.expect_string(0)?;
    call.refuse_fixed_string(0, ErrorCode::IllegalTypeOfArgument)?;
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], _| {
        let text = args[0].bytes()?;
        let flags = (0..args[0].array.len()).map(|row| u8::from(is(without_padding(text.get(row)))));
        Ok(Arc::new(UInt8Array::from_iter_values(flags)))
    }))
}
