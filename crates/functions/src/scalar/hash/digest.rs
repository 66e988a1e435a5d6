//! `MD5`, `SHA1`, `SHA224`, `SHA256`, `SHA384`, `SHA512`: digests of a string.
//!
//! Syntax: `SHA256(s)`. The result is a FixedString with the digest's bytes. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, FixedSizeBinaryArray};
use basalt_base::{Error, Result, SqlType};
use sha2::Digest;

use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static MD5: Definition = Definition::new("MD5", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend(md5_digest(text)), 16)
})
.case_insensitive();

pub(super) static SHA1: Definition =
    Definition::new("SHA1", Arity::Exactly(1), |call| bind(call, |text, out| out.extend(sha1(text)), 20))
        .case_insensitive();

pub(super) static SHA224: Definition = Definition::new("SHA224", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha2::Sha224::digest(text)), 28)
})
.case_insensitive();

pub(super) static SHA256: Definition = Definition::new("SHA256", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha2::Sha256::digest(text)), 32)
})
.case_insensitive();

pub(super) static SHA384: Definition = Definition::new("SHA384", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha2::Sha384::digest(text)), 48)
})
.case_insensitive();

pub(super) static SHA512: Definition = Definition::new("SHA512", Arity::Exactly(1), |call| {
    bind(call, |text, out| out.extend_from_slice(&sha2::Sha512::digest(text)), 64)
})
.case_insensitive();

fn bind(call: &Call<'_>, digest: fn(&[u8], &mut Vec<u8>), width: usize) -> Result<Bound> {
    call.expect_string(0)?;
    Ok(Bound::of(SqlType::FixedString(width), move |args: &[Operand], _| {
        let (text, rows) = (args[0].bytes()?, args[0].array.len());
        let mut digests = Vec::with_capacity(rows * width);
        (0..rows).for_each(|row| digest(text.get(row), &mut digests));
        let array = FixedSizeBinaryArray::try_new(width as i32, digests.into(), None);
        Ok(Arc::new(array.map_err(Error::logical)?))
    }))
}

fn md5_digest(text: &[u8]) -> [u8; 16] {
    use md5::Digest;

    md5::Md5::digest(text).into()
}

/// SHA-1 as FIPS 180-4 has it. Broken for signatures; here it is a checksum.
fn sha1(text: &[u8]) -> [u8; 20] {
    const BLOCK: usize = 64;

    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    blocks.iter().for_each(|block| sha1_block(&mut state, block));
    // The rest, a one bit, zeroes, and the length in bits: one block, or two.
    let mut tail = rest.to_vec();
    tail.push(0x80);
    let padded = if tail.len() <= BLOCK - 8 { BLOCK } else { 2 * BLOCK };
    tail.resize(padded - 8, 0);
    tail.extend_from_slice(&(text.len() as u64 * 8).to_be_bytes());
    tail.as_chunks::<BLOCK>().0.iter().for_each(|block| sha1_block(&mut state, block));
    let mut digest = [0; 20];
    for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    digest
}

fn sha1_block(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut words = [0_u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..80 {
        words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (at, word) in words.iter().enumerate() {
        let (mixed, constant) = match at {
            0..20 => ((b & c) | (!b & d), 0x5a82_7999_u32),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6),
        };
        let next =
            a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(*word);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    for (own, new) in state.iter_mut().zip([a, b, c, d, e]) {
        *own = own.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha1_has_the_standard_answers() {
        let hex = |digest: [u8; 20]| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(sha1(b"abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(hex(sha1(b"")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    }
}
