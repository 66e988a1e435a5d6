//! Conversions between addresses, and from the bytes of an IPv6 address.

use std::sync::Arc;

use arrow::array::{Array, AsArray, FixedSizeBinaryArray, UInt32Array};
use arrow::datatypes::UInt32Type;
use basalt_base::{Error, Result, SqlType, bail};
use basalt_formats::text::{IPV6_BYTES, ipv4_to_ipv6, write_ipv6};

use super::step::Step;

/// To IPv6 from IPv4 or 16 bytes; to IPv4 from an IPv4-mapped address. `None` for other types.
pub(super) fn step(from: &SqlType, to: &SqlType) -> Result<Option<Step>> {
    Ok(Some(match (from, to) {
        (SqlType::FixedString(IPV6_BYTES), SqlType::Ipv6) => Box::new(|array| Ok(Arc::clone(array))),
        (SqlType::Ipv4, SqlType::Ipv6) => Box::new(|array| {
            let addresses = array.as_primitive::<UInt32Type>().values().iter();
            let bytes: Vec<u8> = addresses.flat_map(|&address| ipv4_to_ipv6(address)).collect();
            let array = FixedSizeBinaryArray::try_new(IPV6_BYTES as i32, bytes.into(), None);
            Ok(Arc::new(array.map_err(Error::logical)?))
        }),
        (SqlType::Ipv6, SqlType::Ipv4) => Box::new(|array| {
            let addresses = array.as_fixed_size_binary();
            let address = |row| match array.is_null(row) {
                true => Ok(0),
                false => ipv4_of(addresses.value(row)),
            };
            let addresses = (0..array.len()).map(address).collect::<Result<Vec<u32>>>()?;
            Ok(Arc::new(UInt32Array::from(addresses)))
        }),
        (SqlType::Ipv6, to) | (to, SqlType::Ipv6) if to.is_number() => {
            return Err(Error::not_implemented(
                "a conversion between numbers and IPv6, whose text stands in quotes,",
            ));
        }
        _ => return Ok(None),
    }))
}

fn ipv4_of(address: &[u8]) -> Result<u32> {
    let (block, last) = address.split_at_checked(12).unwrap_or_default();
    if ipv4_to_ipv6(0).starts_with(block)
        && let Ok(last) = last.try_into()
    {
        return Ok(u32::from_be_bytes(last));
    }
    let mut text = Vec::new();
    write_ipv6(address, &mut text);
    bail!(
        CannotConvertType,
        "the IPv6 address {} is not a mapped IPv4 address, which begins with `::ffff:`",
        String::from_utf8_lossy(&text)
    )
}
