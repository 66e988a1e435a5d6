//! `IPv4CIDRToRange`, `IPv6CIDRToRange` and `isIPAddressInRange`: the addresses that share a prefix.
//!
//! Syntax: `IPv6CIDRToRange(address, bits)` is the tuple of the first and the last address; more bits than an address
//! has count as all bits. `isIPAddressInRange(address, '10.0.0.0/8')` takes text or addresses of both versions; an
//! address is never in a range of the other version.

use std::net::IpAddr;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StructArray, UInt8Array, UInt32Array};
use arrow::datatypes::{UInt8Type, UInt32Type};
use basalt_base::{Error, Result, SqlType, bail};
use basalt_formats::text::{parse_ipv6, parse_strict_ipv4};

use super::operands::{expect_ipv4, expect_ipv6, ipv4s, ipv6_array, ipv6s};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static IPV4_CIDR_TO_RANGE: Definition =
    Definition::new("IPv4CIDRToRange", Arity::Exactly(2), |call| {
        expect_ipv4(call, 0)?;
        bind_range(call, SqlType::Ipv4, |args, bits, rows| {
            let bounds = |(address, bits): (u32, u8)| {
                let rest = u32::MAX.checked_shr(u32::from(bits)).unwrap_or(0);
                (address & !rest, address | rest)
            };
            let (first, last): (Vec<u32>, Vec<u32>) = ipv4s(&args[0], rows)?.zip(bits).map(bounds).unzip();
            Ok([Arc::new(UInt32Array::from(first)), Arc::new(UInt32Array::from(last))])
        })
    });

pub(super) static IPV6_CIDR_TO_RANGE: Definition =
    Definition::new("IPv6CIDRToRange", Arity::Exactly(2), |call| {
        expect_ipv6(call, 0)?;
        bind_range(call, SqlType::Ipv6, |args, bits, rows| {
            let bounds = |(address, bits): (u128, u8)| {
                let rest = u128::MAX.checked_shr(u32::from(bits)).unwrap_or(0);
                (address & !rest, address | rest)
            };
            let (first, last): (Vec<u128>, Vec<u128>) = ipv6s(&args[0], rows)?.zip(bits).map(bounds).unzip();
            Ok([Arc::new(ipv6_array(first.into_iter())?), Arc::new(ipv6_array(last.into_iter())?)])
        })
    });

type Bounds = fn(&[Operand], &mut dyn Iterator<Item = u8>, usize) -> Result<[ArrayRef; 2]>;

fn bind_range(call: &Call<'_>, ty: SqlType, bounds: Bounds) -> Result<Bound> {
    if *call.ty(1) != SqlType::UInt8 {
        return Err(call.illegal(1));
    }
    let ty = SqlType::tuple_of([ty.clone(), ty]);
    let fields = ty.struct_fields();
    Ok(Bound::of(ty, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let bits = args[1].numbers::<UInt8Type>()?;
        let arrays = bounds(args, &mut (0..rows).map(|row| bits.get(row)), rows)?;
        Ok(Arc::new(StructArray::try_new(fields.clone(), arrays.to_vec(), None).map_err(Error::of_arrow)?))
    }))
}

/// NULL is in no range.
pub(super) static IS_IP_ADDRESS_IN_RANGE: Definition =
    Definition::new("isIPAddressInRange", Arity::Exactly(2), |call| {
        let ty = call.ty(0).stripped().clone();
        if !matches!(ty, SqlType::String | SqlType::Ipv4 | SqlType::Ipv6) {
            return Err(call.illegal(0));
        }
        if *call.ty(1) != SqlType::String {
            return Err(call.illegal(1));
        }
        Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], rows| {
            let rows = rows_needed(args, rows);
            let nulls = nulls_of(args, rows);
            let prefixes = args[1].bytes()?;
            let known =
                prefixes.constant().filter(|_| args[1].array.is_valid(0)).map(Prefix::parse).transpose()?;
            let mut flags = vec![0; rows];
            for (row, flag) in flags.iter_mut().enumerate() {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    continue;
                }
                let prefix = match known {
                    Some(prefix) => prefix,
                    None => Prefix::parse(prefixes.get(row))?,
                };
                *flag = u8::from(prefix.has(address_at(&ty, &args[0], row)?));
            }
            Ok(Arc::new(UInt8Array::from(flags)))
        }))
    })
    .sees_null();

fn address_at(ty: &SqlType, operand: &Operand, row: usize) -> Result<IpAddr> {
    Ok(match ty {
        SqlType::Ipv4 => IpAddr::from(operand.primitives::<UInt32Type>()?.get(row).to_be_bytes()),
        SqlType::Ipv6 => ipv6_of(operand.bytes()?.get(row)),
        _ => parse_address(operand.bytes()?.get(row))?,
    })
}

fn ipv6_of(bytes: &[u8]) -> IpAddr {
    IpAddr::from(super::operands::number_of(bytes).to_be_bytes())
}

fn parse_address(text: &[u8]) -> Result<IpAddr> {
    if let Ok(address) = parse_strict_ipv4(text) {
        return Ok(IpAddr::from(address.to_be_bytes()));
    }
    let address = Some(text).filter(|text| text.contains(&b':')).and_then(|text| parse_ipv6(text).ok());
    match address {
        Some(address) => Ok(IpAddr::from(address)),
        None => bail!(
            CannotParseText,
            "`{}` is neither an IPv4 nor an IPv6 address",
            String::from_utf8_lossy(text)
        ),
    }
}

/// The addresses that share their first bits.
#[derive(Clone, Copy)]
struct Prefix {
    address: IpAddr,
    bits: u32,
}

impl Prefix {
    /// `10.0.0.0/8`.
    fn parse(text: &[u8]) -> Result<Prefix> {
        let shown = || String::from_utf8_lossy(text);
        let Some(slash) = text.iter().position(|&byte| byte == b'/') else {
            bail!(
                CannotParseText,
                "`{}` is not an address followed by `/` and the length of a prefix",
                shown()
            );
        };
        let address = parse_address(&text[..slash])?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let digits = &text[slash + 1..];
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        let bits =
            std::str::from_utf8(digits).ok().filter(|_| is_number).and_then(|digits| digits.parse().ok());
        match bits.filter(|&bits| bits <= bits_max) {
            Some(bits) => Ok(Prefix { address, bits }),
            None => bail!(
                CannotParseText,
                "the length of the prefix of `{}` must be a number from 0 to {bits_max}",
                shown()
            ),
        }
    }

    fn has(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits
            }
            _ => false,
        }
    }
}
