//! Addresses as arguments and results.

use arrow::array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow::datatypes::UInt32Type;
use basalt_base::{Error, Result, SqlType};
use basalt_formats::text::{IPV6_BYTES, ipv4_to_ipv6};

use crate::scalar::Operand;
use crate::scalar::definition::Call;

/// Argument `index` must be an IPv4 address or its number.
pub(super) fn expect_ipv4(call: &Call<'_>, index: usize) -> Result<()> {
    match call.ty(index) {
        SqlType::Ipv4 | SqlType::UInt8 | SqlType::UInt16 | SqlType::UInt32 => Ok(()),
        _ => Err(call.illegal(index)),
    }
}

/// Argument `index` must be an IPv6 address or its bytes.
pub(super) fn expect_ipv6(call: &Call<'_>, index: usize) -> Result<()> {
    match call.ty(index) {
        SqlType::Ipv6 | SqlType::FixedString(IPV6_BYTES) => Ok(()),
        _ => Err(call.illegal(index)),
    }
}

/// The IPv4 address of each row.
pub(super) fn ipv4s(operand: &Operand, rows: usize) -> Result<impl Iterator<Item = u32>> {
    let numbers = operand.numbers::<UInt32Type>()?;
    Ok((0..rows).map(move |row| numbers.get(row)))
}

/// The IPv6 address of each row, as a number.
pub(super) fn ipv6s<'a>(operand: &'a Operand, rows: usize) -> Result<impl Iterator<Item = u128> + 'a> {
    let bytes = operand.bytes()?;
    Ok((0..rows).map(move |row| number_of(bytes.get(row))))
}

pub(super) fn number_of(address: &[u8]) -> u128 {
    address.try_into().map_or(0, u128::from_be_bytes)
}

/// An array of addresses.
pub(super) fn ipv6_array(addresses: impl Iterator<Item = u128>) -> Result<FixedSizeBinaryArray> {
    let bytes: Vec<u8> = addresses.flat_map(u128::to_be_bytes).collect();
    FixedSizeBinaryArray::try_new(IPV6_BYTES as i32, bytes.into(), None).map_err(Error::of_arrow)
}

/// The IPv4-mapped address in `::ffff:0:0/96`.
pub(super) fn mapped(address: u32) -> u128 {
    u128::from_be_bytes(ipv4_to_ipv6(address))
}

/// Whether row `row` has a value.
pub(super) fn is_valid(array: &ArrayRef, row: usize) -> bool {
    !array.is_null(row)
}
