//! Hashes and checksums.

mod algorithm;
mod city;
mod columns;
mod digest;
mod integer;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &columns::CITY_HASH64,
    &columns::SIP_HASH64,
    &columns::HALF_MD5,
    &columns::XX_HASH64,
    &columns::XX_HASH32,
    &digest::MD5,
    &digest::SHA1,
    &digest::SHA224,
    &digest::SHA256,
    &digest::SHA384,
    &digest::SHA512,
    &integer::INT_HASH32,
    &integer::INT_HASH64,
    &integer::CRC32,
];
