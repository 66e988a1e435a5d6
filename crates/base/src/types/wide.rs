//! The integers of 128 and 256 bits, and the bytes that carry them.
//!
//! # Layout
//!
//! A value is carried as big-endian bytes in two's complement. The sign bit of a signed type is flipped: the order of
//! the bytes is then the order of the numbers, and operators that compare, sort or hash bytes need no other code.
//! ClickHouse's files and protocols hold them as little-endian bytes, without the flip.

use ethnum::U256;

use super::WideNumber;

/// Bytes of a value of 128 bits.
const HALF_BYTES: usize = 16;
/// Bytes of a value of 256 bits.
const FULL_BYTES: usize = 32;
const SIGN_BIT: u8 = 0x80;

/// A type of integers that no native number holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wide {
    Int128,
    UInt128,
    Int256,
    UInt256,
}

impl Wide {
    pub const ALL: [Wide; 4] = [Wide::Int128, Wide::UInt128, Wide::Int256, Wide::UInt256];

    /// The type of 128 bits, or of 256 if `bits` are more than 128.
    pub fn of(is_signed: bool, bits: u32) -> Wide {
        match (is_signed, bits <= u128::BITS) {
            (true, true) => Wide::Int128,
            (false, true) => Wide::UInt128,
            (true, false) => Wide::Int256,
            (false, false) => Wide::UInt256,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Wide::Int128 => "Int128",
            Wide::UInt128 => "UInt128",
            Wide::Int256 => "Int256",
            Wide::UInt256 => "UInt256",
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Wide::Int128 | Wide::Int256)
    }

    pub fn bytes(self) -> usize {
        match self {
            Wide::Int128 | Wide::UInt128 => HALF_BYTES,
            Wide::Int256 | Wide::UInt256 => FULL_BYTES,
        }
    }

    pub fn bits(self) -> u32 {
        self.bytes() as u32 * u8::BITS
    }

    /// The least and the greatest number of the type.
    pub fn limits(self) -> (WideNumber, WideNumber) {
        let sign = U256::ONE << (self.bits() - 1);
        let all = sign | (sign - 1);
        match self.is_signed() {
            true => (WideNumber::negative(sign.wrapping_neg()), WideNumber::positive(sign - 1)),
            false => (WideNumber::default(), WideNumber::positive(all)),
        }
    }

    pub fn holds(self, number: WideNumber) -> bool {
        let (least, most) = self.limits();
        (least..=most).contains(&number)
    }

    /// The number of this type with the low bits of `bits`.
    pub fn wrap(self, bits: U256) -> WideNumber {
        WideNumber::of_bits(bits, self.bits(), self.is_signed())
    }

    /// The number that the carrier's bytes hold.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes than a value has.
    pub fn decode(self, carried: &[u8]) -> WideNumber {
        let flip = if self.is_signed() { SIGN_BIT } else { 0 };
        if self.bytes() == HALF_BYTES {
            let mut bytes = [0; HALF_BYTES];
            bytes.copy_from_slice(&carried[..HALF_BYTES]);
            bytes[0] ^= flip;
            return self.wrap(U256::new(u128::from_be_bytes(bytes)));
        }
        let mut bytes = [0; FULL_BYTES];
        bytes.copy_from_slice(&carried[..FULL_BYTES]);
        bytes[0] ^= flip;
        self.wrap(U256::from_be_bytes(bytes))
    }

    /// Appends the carrier's bytes of the low bits of `bits`.
    pub fn encode(self, bits: U256, out: &mut Vec<u8>) {
        let start = out.len();
        match self.bytes() {
            HALF_BYTES => out.extend_from_slice(&bits.low().to_be_bytes()),
            _ => out.extend_from_slice(&bits.to_be_bytes()),
        }
        if self.is_signed() {
            out[start] ^= SIGN_BIT;
        }
    }

    /// The carrier's bytes of one number.
    pub fn encoded(self, bits: U256) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes());
        self.encode(bits, &mut out);
        out
    }

    /// Values as ClickHouse holds them in memory: little-endian.
    pub fn to_memory(self, carried: &[u8]) -> Vec<u8> {
        self.reordered(carried, self.bytes() - 1)
    }

    /// The inverse of [`Wide::to_memory`].
    pub fn from_memory(self, memory: &[u8]) -> Vec<u8> {
        self.reordered(memory, 0)
    }

    /// Reverses the bytes of each value, and flips the sign bit, which is then in the byte at `sign`.
    fn reordered(self, values: &[u8], sign: usize) -> Vec<u8> {
        let mut reordered = values.to_vec();
        for value in reordered.chunks_exact_mut(self.bytes()) {
            value.reverse();
            if self.is_signed() {
                value[sign] ^= SIGN_BIT;
            }
        }
        reordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(wide: Wide) -> Vec<WideNumber> {
        let (least, most) = wide.limits();
        let mut samples = vec![least, WideNumber::from(0_i128), WideNumber::from(1_i128), most];
        samples
            .extend([-1_i128, -255, i128::MIN].map(WideNumber::from).into_iter().filter(|n| wide.holds(*n)));
        samples.sort();
        samples.dedup();
        samples
    }

    #[test]
    fn carried_bytes_have_the_order_of_the_numbers() {
        for wide in Wide::ALL {
            let samples = samples(wide);
            let encoded: Vec<Vec<u8>> = samples.iter().map(|number| wide.encoded(number.bits())).collect();
            assert!(encoded.is_sorted(), "{}", wide.name());
            for (bytes, number) in encoded.iter().zip(samples) {
                assert_eq!(wide.decode(bytes), number, "{}", wide.name());
                assert_eq!(wide.from_memory(&wide.to_memory(bytes)), *bytes);
            }
        }
    }

    #[test]
    fn memory_is_little_endian() {
        let minus_two = WideNumber::from(-2_i128);
        let memory = Wide::Int128.to_memory(&Wide::Int128.encoded(minus_two.bits()));
        assert_eq!(memory, (-2_i128).to_le_bytes());
        let memory = Wide::UInt256.to_memory(&Wide::UInt256.encoded(U256::from(258_u16)));
        assert_eq!((memory[0], memory[1], memory[2..].iter().all(|byte| *byte == 0)), (2, 1, true));
    }
}
