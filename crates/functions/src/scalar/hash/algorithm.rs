//! What the hash functions of several arguments have in common: a hash of bytes, and of two hashes.

use md5::Digest;

use super::city::{city_hash64, hash_pair};
use super::sip::sip_hash64;
use super::xx::{xx_hash32, xx_hash64};

/// An algorithm that hashes values and combines hashes.
pub(super) trait Algorithm: Send + Sync + 'static {
    /// Whether a number of up to 64 bits has its own hash (`intHash64`) instead of its bytes'.
    const MIXES_INTEGERS: bool;

    fn hash(bytes: &[u8]) -> u64;

    fn combine(left: u64, right: u64) -> u64;
}

pub(super) struct City;

impl Algorithm for City {
    const MIXES_INTEGERS: bool = true;

    fn hash(bytes: &[u8]) -> u64 {
        city_hash64(bytes)
    }

    fn combine(left: u64, right: u64) -> u64 {
        hash_pair(left, right)
    }
}

pub(super) struct Sip;

impl Algorithm for Sip {
    const MIXES_INTEGERS: bool = false;

    fn hash(bytes: &[u8]) -> u64 {
        sip_hash64(bytes)
    }

    fn combine(left: u64, right: u64) -> u64 {
        sip_hash64(&bytes_of_two(left, right))
    }
}

/// The first eight bytes of MD5, the first one highest.
pub(super) struct HalfMd5;

impl Algorithm for HalfMd5 {
    const MIXES_INTEGERS: bool = false;

    fn hash(bytes: &[u8]) -> u64 {
        let digest = md5::Md5::digest(bytes);
        let mut half = [0; 8];
        half.copy_from_slice(&digest[..8]);
        u64::from_be_bytes(half)
    }

    fn combine(left: u64, right: u64) -> u64 {
        HalfMd5::hash(&bytes_of_two(left, right))
    }
}

pub(super) struct Xx64;

impl Algorithm for Xx64 {
    const MIXES_INTEGERS: bool = false;

    fn hash(bytes: &[u8]) -> u64 {
        xx_hash64(bytes)
    }

    fn combine(left: u64, right: u64) -> u64 {
        hash_pair(left, right)
    }
}

pub(super) struct Xx32;

impl Algorithm for Xx32 {
    const MIXES_INTEGERS: bool = false;

    fn hash(bytes: &[u8]) -> u64 {
        u64::from(xx_hash32(bytes))
    }

    fn combine(left: u64, right: u64) -> u64 {
        u64::from(super::integer::int_hash32(left) as u32 ^ right as u32)
    }
}

fn bytes_of_two(left: u64, right: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&left.to_le_bytes());
    bytes[8..].copy_from_slice(&right.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers_of_strings() {
        assert_eq!((City::hash(b"a"), City::hash(b"")), (2_603_192_927_274_642_682, 11_160_318_154_034_397_263));
        assert_eq!(Sip::hash(b"a"), 10_863_254_463_029_944_905);
        assert_eq!(HalfMd5::hash(b"a"), 919_145_239_626_757_800);
        assert_eq!((Xx64::hash(b"a"), Xx32::hash(b"a")), (15_154_266_338_359_012_955, 1_426_945_110));
    }

    #[test]
    fn known_answers_of_pairs() {
        fn pair<A: Algorithm>() -> u64 {
            A::combine(A::hash(b"a"), A::hash(b"b"))
        }
        assert_eq!(pair::<City>(), 7_468_329_322_676_821_011);
        assert_eq!(pair::<Sip>(), 1_193_743_241_355_087_095);
        assert_eq!(pair::<HalfMd5>(), 344_816_746_590_365_630);
        assert_eq!(pair::<Xx64>(), 14_756_808_377_901_732_262);
    }
}
