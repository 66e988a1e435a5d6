//! `cutIPv6` and `IPv4ToIPv6`: addresses with their last bytes cleared, and IPv4 addresses as IPv6.
//!
//! Syntax: `cutIPv6(address, bytes, bytes_of_ipv4)` is text in which the last `bytes` are zero, or the last
//! `bytes_of_ipv4` of an IPv4-mapped address. `IPv4ToIPv6(number)` is a FixedString(16), or an IPv6 address if its
//! argument is an IPv4 address.

use std::sync::Arc;

use arrow::datatypes::UInt8Type;
use basalt_base::{Result, SqlType, bail};
use basalt_formats::text::{IPV6_BYTES, write_ipv6};

use super::operands::{expect_ipv4, expect_ipv6, ipv4s, ipv6_array, mapped, number_of};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{build_strings, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static CUT_IPV6: Definition = Definition::new("cutIPv6", Arity::Exactly(3), bind_cut);

pub(super) static IPV4_TO_IPV6: Definition = Definition::new("IPv4ToIPv6", Arity::Exactly(1), |call| {
    expect_ipv4(call, 0)?;
    let ty = match call.ty(0) {
        SqlType::Ipv4 => SqlType::Ipv6,
        _ => SqlType::FixedString(IPV6_BYTES),
    };
    Ok(Bound::of(ty, |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        Ok(Arc::new(ipv6_array(ipv4s(&args[0], rows)?.map(mapped))?))
    }))
});

fn bind_cut(call: &Call<'_>) -> Result<Bound> {
    expect_ipv6(call, 0)?;
    for index in [1, 2] {
        if *call.ty(index) != SqlType::UInt8 {
            return Err(call.illegal(index));
        }
        let Some(value) = call.constant(index) else {
            bail!(IllegalColumn, "argument {} of function `cutIPv6` must be a constant", index + 1);
        };
        let bytes = crate::scalar::number::wrap_to::<UInt8Type>(value)?.value(0);
        if usize::from(bytes) > IPV6_BYTES {
            bail!(
                IllegalTypeOfArgument,
                "argument {} of function `cutIPv6` is {bytes}, and an address has {IPV6_BYTES} bytes",
                index + 1
            );
        }
    }
    Ok(Bound::of(SqlType::String, |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (addresses, cut) = (args[0].bytes()?, args[1].numbers::<UInt8Type>()?);
        let cut_of_ipv4 = args[2].numbers::<UInt8Type>()?;
        let text = build_strings(rows, |row, out| {
            let address = number_of(addresses.get(row));
            let is_ipv4 = address >> 32 == mapped(0) >> 32;
            let bytes = if is_ipv4 { cut_of_ipv4.get(row) } else { cut.get(row) };
            let kept = u128::MAX.checked_shl(8 * u32::from(bytes)).unwrap_or(0);
            write_ipv6(&(address & kept).to_be_bytes(), out);
            Ok(())
        })?;
        Ok(Arc::new(text))
    }))
}
