//! OnPair: short strings as codes of a few bits, which stand for tokens of up to sixteen bytes.
//!
//! "OnPair: Short Strings Compression for Fast Random Access" by Gargiulo et al. (2025). Tokens are found
//! in one pass over a sample: two tokens that are often adjacent become one. A code does not depend on the codes
//! before it, so a string is decoded alone, by a copy of sixteen bytes for each code. It is not a
//! [`Codec`](crate::Codec): it holds many strings that are read one at a time.
//!
//! # Layout
//!
//! The tokens ([`Tokens::write`]). The caller stores the codes, for example as [`Tokens::pack`] makes them:
//!
//! ```text
//! bits       u8              the bits of a code: 8 to 16
//! lengths    n x u8          the lengths of the tokens after the 256 single bytes, 2 to 16; n is at most 2^bits - 256
//! end        u8              0
//! tokens                     their bytes, in the same order
//! ```
//!
//! # Invariants
//!
//! - **Every byte**: the first 256 tokens are the single bytes, so every string has codes.
//! - **Every code**: there are 2^bits tokens, and the unused ones are empty. Damaged codes decode to some text. They
//!   never read past the tokens.

mod filter;
mod heads;
mod matcher;
mod packed;
mod sizes;
mod train;

pub use matcher::TokenMatcher;
use sizes::BYTES;
pub use sizes::TOKEN_BYTES_MAX;

use crate::CodecError;

const CODEC: &str = "OnPair";
const BITS_MIN: u32 = 8;
const BITS_MAX: u32 = 16;

/// A token, padded with zeroes.
type Text = [u8; TOKEN_BYTES_MAX];

/// The text of each code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    bits: u32,
    /// The text of each of the 2^bits codes.
    texts: Vec<Text>,
    lengths: Vec<u8>,
    /// The number of tokens with a text.
    count: usize,
}

impl Tokens {
    /// Trains at most 2^`bits` tokens on `sample`. `bits` is from 8 to 16.
    pub fn train(sample: &[&[u8]], bits: u32) -> Tokens {
        train::train(sample, bits.clamp(BITS_MIN, BITS_MAX))
    }

    /// The single bytes.
    fn single_bytes(bits: u32) -> Tokens {
        let mut tokens =
            Tokens { bits, texts: vec![[0; _]; 1 << bits], lengths: vec![0; 1 << bits], count: 0 };
        (0..=u8::MAX).for_each(|byte| tokens.add(&[byte]));
        tokens
    }

    /// Gives the next code to `text`. A code must be free.
    fn add(&mut self, text: &[u8]) {
        self.texts[self.count][..text.len()].copy_from_slice(text);
        self.lengths[self.count] = text.len() as u8;
        self.count += 1;
    }

    /// The bits of a code.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The text of a code, 1 to [`TOKEN_BYTES_MAX`] bytes; nothing if the code is not used.
    pub fn text_of(&self, code: u16) -> &[u8] {
        match usize::from(code) {
            code if code < self.count => self.text(code),
            _ => &[],
        }
    }

    fn text(&self, code: usize) -> &[u8] {
        &self.texts[code][..usize::from(self.lengths[code])]
    }

    fn is_full(&self) -> bool {
        self.count == self.texts.len()
    }

    /// Writes the texts of `codes` one after the other to `out`, and the end of each to `ends`. They need room for
    /// [`TOKEN_BYTES_MAX`] bytes and one number per code. Bits of a code above [`Tokens::bits`] are ignored.
    #[inline(always)]
    pub fn decode(&self, codes: &[u16], out: &mut [u8], ends: &mut [u32]) {
        // Both lengths are the number of codes, a power of two.
        let (texts, lengths) = (self.texts.as_slice(), &self.lengths[..self.texts.len()]);
        let mask = texts.len() - 1;
        let mut at = 0;
        for (&code, end) in codes.iter().zip(ends) {
            let code = usize::from(code) & mask;
            if let Some(out) = out.get_mut(at..at + TOKEN_BYTES_MAX) {
                out.copy_from_slice(&texts[code]);
            }
            at += usize::from(lengths[code]);
            *end = at as u32;
        }
    }

    /// Appends the tokens as bytes, see the layout above.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.bits as u8);
        out.extend_from_slice(&self.lengths[BYTES..self.count]);
        out.push(0);
        (BYTES..self.count).for_each(|code| out.extend_from_slice(self.text(code)));
    }

    /// Reads the bytes of [`Tokens::write`]; `input` holds nothing else.
    pub fn read(input: &[u8]) -> Result<Tokens, CodecError> {
        let truncated = || CodecError::Truncated { codec: CODEC };
        let (&bits, rest) = input.split_first().ok_or_else(truncated)?;
        let bits = u32::from(bits);
        if !(BITS_MIN..=BITS_MAX).contains(&bits) {
            return Err(malformed(format!("codes of {bits} bits")));
        }
        let count = rest.iter().position(|&length| length == 0).ok_or_else(truncated)?;
        let (lengths, mut rest) = (&rest[..count], &rest[count + 1..]);
        if BYTES + count > 1 << bits {
            return Err(malformed(format!("{count} tokens for codes of {bits} bits")));
        }
        let mut tokens = Tokens::single_bytes(bits);
        for &length in lengths {
            if !(2..=TOKEN_BYTES_MAX).contains(&usize::from(length)) {
                return Err(malformed(format!("a token of {length} bytes")));
            }
            let (text, after) = rest.split_at_checked(usize::from(length)).ok_or_else(truncated)?;
            tokens.add(text);
            rest = after;
        }
        if !rest.is_empty() {
            return Err(malformed(format!("{} bytes after the tokens", rest.len())));
        }
        Ok(tokens)
    }

    /// The memory of tokens for codes of `bits` bits.
    pub fn bytes_of(bits: u32) -> usize {
        (TOKEN_BYTES_MAX + 1) << bits.clamp(BITS_MIN, BITS_MAX)
    }

    pub fn heap_bytes(&self) -> usize {
        Tokens::bytes_of(self.bits)
    }
}

fn malformed(reason: String) -> CodecError {
    CodecError::Malformed { codec: CODEC, reason }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Strings come back one by one, in any order.
    fn check(tokens: &Tokens, strings: &[Vec<u8>]) {
        let matcher = TokenMatcher::new(tokens);
        let mut codes = Vec::new();
        for string in strings.iter().rev() {
            codes.clear();
            matcher.encode(string, 0..string.len(), |code| codes.push(code));
            assert!(codes.len() <= string.len());
            assert_eq!(&decoded(tokens, &codes), string);
        }
    }

    fn decoded(tokens: &Tokens, codes: &[u16]) -> Vec<u8> {
        let (mut out, mut ends) = (vec![0; codes.len() * TOKEN_BYTES_MAX], vec![0; codes.len()]);
        tokens.decode(codes, &mut out, &mut ends);
        out.truncate(ends.last().map_or(0, |&end| end as usize));
        out
    }

    fn trained(strings: &[Vec<u8>], bits: u32) -> Tokens {
        Tokens::train(&strings.iter().map(Vec::as_slice).collect::<Vec<_>>(), bits)
    }

    fn written(tokens: &Tokens) -> Vec<u8> {
        let mut bytes = Vec::new();
        tokens.write(&mut bytes);
        bytes
    }

    fn addresses(count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|at| format!("https://www.example.com/catalog/item?id={}", at * 7919).into()).collect()
    }

    proptest! {
        #[test]
        fn strings_come_back(
            sample in prop::collection::vec(prop::collection::vec(b'a'..b'e', 0..60), 0..60),
            others in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
            bits in 8..=16_u32,
        ) {
            let tokens = trained(&sample, bits);
            check(&tokens, &sample);
            check(&tokens, &others);
            prop_assert_eq!(&Tokens::read(&written(&tokens)), &Ok(tokens));
        }

        #[test]
        fn any_codes_decode_to_something(codes in prop::collection::vec(any::<u16>(), 0..50), bits in 8..=16_u32) {
            let tokens = trained(&addresses(50), bits);
            prop_assert!(decoded(&tokens, &codes).len() <= codes.len() * 16);
        }
    }

    #[test]
    fn addresses_take_a_third() {
        let strings = addresses(20_000);
        for bits in [12, 16] {
            let tokens = trained(&strings[..10_000], bits);
            let (matcher, mut codes) = (TokenMatcher::new(&tokens), Vec::new());
            strings
                .iter()
                .for_each(|string| matcher.encode(string, 0..string.len(), |code| codes.push(code)));
            let bytes: usize = strings.iter().map(Vec::len).sum();
            assert!(codes.len() * bits as usize / 8 <= bytes / 3, "{} codes of {bits} bits", codes.len());
        }
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_refused_or_harmless() {
        let tokens = trained(&addresses(200), 12);
        let whole = written(&tokens);
        for bytes in 0..whole.len() {
            assert!(Tokens::read(&whole[..bytes]).is_err(), "cut to {bytes} bytes");
        }
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(tokens) = Tokens::read(&damaged) {
                assert!(decoded(&tokens, &[0, 300, u16::MAX]).len() <= 48);
            }
        }
    }
}
