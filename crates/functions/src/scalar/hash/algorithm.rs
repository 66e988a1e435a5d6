//! Hash algorithms for functions of several arguments: a hash of bytes, and a combination of two hashes.

use basalt_base::siphash::sip_hash64;
use md5::Digest;
use twox_hash::{XxHash32, XxHash64};

use super::city::{city_hash64, hash_pair};
use super::integer::{int_hash32, int_hash64};

/// An algorithm that hashes values and combines hashes.
pub(super) trait Algorithm: Send + Sync + 'static {
    /// Whether a number of up to 64 bits is hashed by `intHash64` instead of by its bytes.
    const MIXES_INTEGERS: bool;

    fn hash(bytes: &[u8]) -> u64;

    fn combine(left: u64, right: u64) -> u64;

    /// The hash of an array's length, which precedes those of its elements.
    fn hash_length(length: u64) -> u64 {
        int_hash64(length)
    }
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
        XxHash64::oneshot(0, bytes)
    }

    fn combine(left: u64, right: u64) -> u64 {
        hash_pair(left, right)
    }
}

pub(super) struct Xx32;

impl Algorithm for Xx32 {
    const MIXES_INTEGERS: bool = false;

    fn hash(bytes: &[u8]) -> u64 {
        u64::from(XxHash32::oneshot(0, bytes))
    }

    fn combine(left: u64, right: u64) -> u64 {
        u64::from(int_hash32(left) ^ right as u32)
    }

    fn hash_length(length: u64) -> u64 {
        u64::from(int_hash32(length))
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
        assert_eq!(
            (City::hash(b"a"), City::hash(b"")),
            (2_603_192_927_274_642_682, 11_160_318_154_034_397_263)
        );
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

    /// Lengths on both sides of every case that an algorithm distinguishes; answers from ClickHouse.
    #[test]
    fn known_answers_of_all_lengths() {
        fn check<A: Algorithm>(expected: [u64; 13]) {
            let text = "The quick brown fox jumps over the lazy dog. ".repeat(5);
            let lengths = [3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 200];
            assert_eq!(lengths.map(|length: usize| A::hash(&text.as_bytes()[..length])), expected);
        }
        check::<City>([
            9_456_065_179_546_978_676,
            7_426_151_758_103_449_081,
            8_261_970_815_632_334_399,
            15_693_689_613_497_209_625,
            3_887_581_654_433_788_716,
            17_248_679_875_317_671_279,
            14_343_997_730_508_542_907,
            4_305_124_436_332_828_171,
            6_345_870_380_579_539_972,
            15_207_162_842_133_252_839,
            4_133_939_211_706_148_414,
            6_396_544_403_935_356_846,
            3_389_940_002_427_123_551,
        ]);
        check::<Sip>([
            1_381_986_379_548_814_910,
            8_725_050_901_409_773_954,
            18_166_411_371_961_106_473,
            17_796_227_738_752_275_339,
            10_780_780_922_598_027_803,
            10_295_971_800_780_022_962,
            2_364_002_642_639_705_797,
            7_763_743_190_573_715_404,
            16_829_434_799_240_431_330,
            18_390_151_677_857_448_902,
            327_476_386_307_327_379,
            13_702_654_396_089_319_259,
            16_382_826_415_867_790_124,
        ]);
        check::<Xx64>([
            4_686_269_239_494_003_989,
            14_839_706_335_899_230_223,
            15_022_663_274_251_762_443,
            11_318_131_744_367_836_265,
            1_116_443_012_856_259_345,
            7_780_105_293_259_205_914,
            16_337_873_158_372_173_038,
            7_895_652_573_388_462_897,
            17_549_249_749_280_845_370,
            5_511_221_539_833_188_320,
            6_765_096_673_959_635_995,
            1_118_953_740_939_064_964,
            18_408_898_311_006_885_835,
        ]);
        check::<Xx32>([
            3_570_264_112,
            79_577_984,
            3_853_776_307,
            619_968_178,
            3_573_198_769,
            4_125_116_392,
            2_294_526_721,
            3_045_577_644,
            2_110_514_412,
            1_389_735_879,
            2_977_890_357,
            2_342_451_272,
            2_951_256_928,
        ]);
    }
}
