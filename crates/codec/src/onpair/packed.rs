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
            let mut room = Room::of(self, codes.len(), out);
            codes.iter().for_each(|&code| room.put(code));
        }
    }

    /// Appends the string whose codes [`Tokens::pack`] wrote. Any bytes are some string.
    #[inline]
    pub fn append_packed(&self, packed: &[u8], out: &mut Vec<u8>) {
        match self.bits {
            12 => self.append_words::<12>(packed, out),
            14 => self.append_words::<14>(packed, out),
            16 => {
                for packed in packed.as_chunks().0.chunks(CODES_OF_A_PIECE) {
                    let mut room = Room::of(self, packed.len(), out);
                    packed.iter().for_each(|code| room.put(u16::from_le_bytes(*code)));
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
    fn append_words<const BITS: usize>(&self, packed: &[u8], out: &mut Vec<u8>) {
        for packed in packed.chunks(CODES_OF_A_PIECE * BITS / 8) {
            let count = packed.len() * 8 / BITS;
            let mut room = Room::of(self, count, out);
            for word in 0..count / CODES_AT_ONCE {
                codes_of::<BITS>(packed, word).into_iter().for_each(|code| room.put(code));
            }
            let last = codes_of::<BITS>(packed, count / CODES_AT_ONCE);
            last[..count % CODES_AT_ONCE].iter().for_each(|&code| room.put(code));
        }
    }
}

/// Room for the texts of some codes at the end of a list of bytes.
struct Room<'a> {
    texts: &'a [Text],
    lengths: &'a [u8],
    out: &'a mut Vec<u8>,
    /// The end of the texts that were put.
    at: usize,
}

impl<'a> Room<'a> {
    #[inline(always)]
    fn of(tokens: &'a Tokens, codes: usize, out: &'a mut Vec<u8>) -> Room<'a> {
        out.reserve(codes * TOKEN_BYTES_MAX);
        // Both lengths are the number of codes, a power of two.
        let (texts, lengths) = (tokens.texts.as_slice(), &tokens.lengths[..tokens.texts.len()]);
        Room { texts, lengths, at: out.len(), out }
    }

    /// Appends the text of a code.
    #[inline(always)]
    fn put(&mut self, code: u16) {
        let code = usize::from(code) & (self.texts.len() - 1);
        assert!(self.at + TOKEN_BYTES_MAX <= self.out.capacity(), "there is room for each code");
        // SAFETY: the assertion says that there is room for a whole text.
        unsafe { self.out.as_mut_ptr().add(self.at).cast::<Text>().write(self.texts[code]) };
        self.at += usize::from(self.lengths[code]);
    }
}

impl Drop for Room<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: each text was written whole where the one before ends, and a text is not longer than
        // `TOKEN_BYTES_MAX`: tokens are added and read with such a length. So all bytes before `at` were written.
        unsafe { self.out.set_len(self.at) };
    }
}

fn unpack_words<const BITS: usize>(packed: &[u8], codes: &mut Vec<u16>) {
    let (start, count) = (codes.len(), packed.len() * 8 / BITS);
    codes.resize(start + count.next_multiple_of(CODES_AT_ONCE), 0);
    let words = codes[start..].as_chunks_mut::<CODES_AT_ONCE>().0.iter_mut().enumerate();
    words.for_each(|(word, codes)| *codes = codes_of::<BITS>(packed, word));
    codes.truncate(start + count);
}

/// Four codes; zeroes after the last byte.
#[inline(always)]
fn codes_of<const BITS: usize>(packed: &[u8], word: usize) -> [u16; CODES_AT_ONCE] {
    const { assert!((BITS * CODES_AT_ONCE).is_multiple_of(8) && BITS * CODES_AT_ONCE <= 64) };
    let rest = packed.get(word * (BITS * CODES_AT_ONCE / 8)..).unwrap_or_default();
    let word = match rest.first_chunk::<WORD_BYTES>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    [0, 1, 2, 3].map(|code| low_code::<BITS>(word >> (code * BITS)))
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
