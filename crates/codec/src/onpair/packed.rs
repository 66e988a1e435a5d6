//! The codes of a string as bytes, and the string again from these bytes.
//!
//! # Layout
//!
//! Code `i` of `bits` bits takes the bits `i * bits..(i + 1) * bits`. Bit 0 is the lowest bit of the first byte. The
//! last byte is padded with zeroes, which are fewer than a code, so the number of bytes tells the number of codes.
//!
//! # Cost
//!
//! Four codes of 12, 14 or 16 bits begin at a byte and fit into one loaded word. Codes of other widths are read one at
//! a time.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use super::{TOKEN_BYTES_MAX, Text, Tokens};

/// Codes that are read from one word.
const CODES_AT_ONCE: usize = 4;
const WORD_BYTES: usize = size_of::<u64>();
/// Codes that are decoded before room for the next ones is made: a long string needs little more room than its text.
const CODES_OF_A_PIECE: usize = 1 << 10;

impl Tokens {
    /// Appends the codes as bytes.
    pub fn pack(&self, codes: &[u16], out: &mut Vec<u8>) {
        if self.bits == u16::BITS {
            out.extend(codes.iter().flat_map(|code| code.to_le_bytes()));
            return;
        }
        let (mut word, mut used) = (0_u64, 0);
        for &code in codes {
            word |= u64::from(code) << used;
            used += self.bits;
            if used >= u32::BITS {
                out.extend_from_slice(&word.to_le_bytes()[..size_of::<u32>()]);
                word >>= u32::BITS;
                used -= u32::BITS;
            }
        }
        out.extend_from_slice(&word.to_le_bytes()[..used.div_ceil(8) as usize]);
    }

    /// The bytes of `count` codes.
    pub fn packed_bytes(&self, count: usize) -> usize {
        count.saturating_mul(self.bits as usize).div_ceil(8)
    }

    /// Appends the codes that [`Tokens::pack`] wrote. Any bytes are some codes.
    pub fn unpack(&self, packed: &[u8], codes: &mut Vec<u16>) {
        match self.bits {
            12 => unpack_words::<12>(packed, codes),
            14 => unpack_words::<14>(packed, codes),
            16 => codes.extend(packed.as_chunks().0.iter().map(|code| u16::from_le_bytes(*code))),
            bits => unpack_each(packed, bits as usize, codes),
        }
    }

    /// Appends the texts of `codes`. Bits of a code above [`Tokens::bits`] are ignored.
    #[inline]
    pub fn append(&self, codes: &[u16], out: &mut Vec<u8>) {
        for codes in codes.chunks(CODES_OF_A_PIECE) {
            self.append_piece(codes, out);
        }
    }

    /// Appends the string whose codes [`Tokens::pack`] wrote. Any bytes are some string.
    #[inline]
    pub fn append_packed(&self, packed: &[u8], out: &mut Vec<u8>) {
        let mut codes = [0; CODES_OF_A_PIECE];
        match self.bits {
            12 => self.append_words::<12>(packed, &mut codes, out),
            14 => self.append_words::<14>(packed, &mut codes, out),
            16 => {
                for packed in packed.as_chunks().0.chunks(CODES_OF_A_PIECE) {
                    codes.iter_mut().zip(packed).for_each(|(code, bytes)| *code = u16::from_le_bytes(*bytes));
                    self.append_piece(&codes[..packed.len()], out);
                }
            }
            bits => {
                let mut codes = Vec::new();
                unpack_each(packed, bits as usize, &mut codes);
                self.append(&codes, out);
            }
        }
    }

    #[inline(always)]
    fn append_words<const BITS: usize>(
        &self,
        packed: &[u8],
        codes: &mut [u16; CODES_OF_A_PIECE],
        out: &mut Vec<u8>,
    ) {
        for packed in packed.chunks(CODES_OF_A_PIECE * BITS / 8) {
            let count = packed.len() * 8 / BITS;
            fill::<BITS>(packed, &mut codes[..count.next_multiple_of(CODES_AT_ONCE)]);
            self.append_piece(&codes[..count], out);
        }
    }

    /// [`Tokens::append`] of a few codes.
    #[inline(always)]
    fn append_piece(&self, codes: &[u16], out: &mut Vec<u8>) {
        out.reserve(codes.len() * TOKEN_BYTES_MAX);
        // Both lengths are the number of codes, a power of two.
        let (texts, lengths) = (self.texts.as_slice(), &self.lengths[..self.texts.len()]);
        let mask = texts.len() - 1;
        let start = out.len();
        let mut at = start;
        for &code in codes {
            let code = usize::from(code) & mask;
            // SAFETY: `at` is at most `start` and the lengths of the codes before this one, each of which is at most
            // `TOKEN_BYTES_MAX`: tokens are added and read with such a length. So there is room for one more token.
            unsafe { out.as_mut_ptr().add(at).cast::<Text>().write(texts[code]) };
            at += usize::from(lengths[code]);
        }
        // SAFETY: each token began where the one before ended, so all bytes before `at` were written.
        unsafe { out.set_len(at) };
    }
}

fn unpack_words<const BITS: usize>(packed: &[u8], codes: &mut Vec<u16>) {
    let (start, count) = (codes.len(), packed.len() * 8 / BITS);
    codes.resize(start + count.next_multiple_of(CODES_AT_ONCE), 0);
    fill::<BITS>(packed, &mut codes[start..]);
    codes.truncate(start + count);
}

/// Fills `codes`, four at a time. The codes after the last byte are zeroes.
#[inline(always)]
fn fill<const BITS: usize>(packed: &[u8], codes: &mut [u16]) {
    const { assert!((BITS * CODES_AT_ONCE).is_multiple_of(8) && BITS * CODES_AT_ONCE <= 64) };
    let step = BITS * CODES_AT_ONCE / 8;
    for (index, codes) in codes.as_chunks_mut::<CODES_AT_ONCE>().0.iter_mut().enumerate() {
        let rest = packed.get(index * step..).unwrap_or_default();
        let word = match rest.first_chunk::<WORD_BYTES>() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        *codes = [0, 1, 2, 3].map(|code| low_code::<BITS>(word >> (code * BITS)));
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low bits are the code")]
fn low_code<const BITS: usize>(word: u64) -> u16 {
    word as u16 & (u16::MAX >> (16 - BITS))
}

/// Codes of any width, at most 16.
#[expect(clippy::cast_possible_truncation, reason = "the mask keeps at most 16 bits")]
fn unpack_each(packed: &[u8], bits: usize, codes: &mut Vec<u16>) {
    let byte = |at: usize| u32::from(packed.get(at).copied().unwrap_or(0));
    codes.extend((0..packed.len() * 8 / bits).map(|index| {
        let at = index * bits;
        let word = byte(at / 8) | byte(at / 8 + 1) << 8 | byte(at / 8 + 2) << 16;
        (word >> (at % 8)) as u16 & (u16::MAX >> (16 - bits))
    }));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::TokenMatcher;

    fn tokens(bits: u32) -> Tokens {
        let texts: Vec<String> =
            (0..3000).map(|at| format!("catalog/item-{}.html", at * 7919 % 4001)).collect();
        Tokens::train(&texts.iter().map(String::as_bytes).collect::<Vec<_>>(), bits)
    }

    proptest! {
        #[test]
        fn packed_strings_come_back(
            text in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), "(item|-[0-9]{1,4}|.html){0,2000}".prop_map(Vec::from)],
            bits in 8..=16_u32,
        ) {
            let tokens = tokens(bits);
            let (matcher, mut codes, mut packed) = (TokenMatcher::new(&tokens), Vec::new(), Vec::new());
            matcher.encode(&text, 0..text.len(), |code| codes.push(code));
            tokens.pack(&codes, &mut packed);
            prop_assert_eq!(packed.len(), tokens.packed_bytes(codes.len()));
            let mut unpacked = vec![7];
            tokens.unpack(&packed, &mut unpacked);
            prop_assert_eq!(&unpacked[1..], &codes);
            let (mut one, mut other) = (b"before".to_vec(), Vec::new());
            tokens.append_packed(&packed, &mut one);
            prop_assert_eq!(&one[6..], &text);
            tokens.append(&codes, &mut other);
            prop_assert_eq!(&other, &text);
        }

        #[test]
        fn any_bytes_are_some_string(packed in prop::collection::vec(any::<u8>(), 0..3000), bits in 8..=16_u32) {
            let tokens = tokens(bits);
            let (mut codes, mut out) = (Vec::new(), Vec::new());
            tokens.unpack(&packed, &mut codes);
            tokens.append_packed(&packed, &mut out);
            prop_assert_eq!(codes.len(), packed.len() * 8 / bits as usize);
            prop_assert!(out.len() <= codes.len() * TOKEN_BYTES_MAX);
        }
    }
}
