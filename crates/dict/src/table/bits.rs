//! Numbers of any width in bits, without padding between them.

/// Padding after the last number, so that all can be read as whole words.
pub(crate) const PADDING_BYTES: usize = 2 * WORD_BYTES;
/// The widest number that [`get_short`] reads.
pub(crate) const SHORT_BITS_MAX: u32 = 57;

const WORD_BYTES: usize = size_of::<u64>();

/// The low `count` bits; `count` is at most 64.
#[inline(always)]
pub(crate) fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}

/// The bytes of `numbers` of `bits` each, and of the padding.
pub(crate) fn packed_bytes(numbers: usize, bits: u32) -> Option<usize> {
    numbers.checked_mul(bits as usize)?.div_ceil(8).checked_add(PADDING_BYTES)
}

/// The number of at most [`SHORT_BITS_MAX`] bits at bit `at`.
#[inline(always)]
pub(crate) fn get_short(bytes: &[u8], at: u64, mask: u64) -> u64 {
    word(bytes, (at >> 3) as usize) >> (at & 7) & mask
}

/// The number of at most 64 bits at bit `at`.
#[inline(always)]
pub(crate) fn get(bytes: &[u8], at: u64, mask: u64) -> u64 {
    let from = (at >> 3) as usize;
    let two = u128::from(word(bytes, from)) | u128::from(word(bytes, from + WORD_BYTES)) << 64;
    (two >> (at & 7)) as u64 & mask
}

/// Puts a number of at most 64 bits at bit `at`, where all bits are zero.
pub(crate) fn put(bytes: &mut [u8], at: u64, number: u64) {
    let shifted = u128::from(number) << (at & 7);
    let to = &mut bytes[(at >> 3) as usize..][..2 * WORD_BYTES];
    let old = u128::from_le_bytes(to.try_into().expect("the range has sixteen bytes"));
    to.copy_from_slice(&(old | shifted).to_le_bytes());
}

/// Puts numbers one after the other, from the first bit on.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    /// The number of bytes that are written.
    at: usize,
    /// Bits that are not written yet, less than a word; zeroes above them.
    pending: u64,
    pending_bits: u32,
}

impl BitWriter {
    /// Adds a number of at most `width` bits, which is at most 64.
    #[inline(always)]
    pub(crate) fn push(&mut self, bytes: &mut [u8], number: u64, width: u32) {
        let before = self.pending_bits;
        self.pending |= number << before;
        self.pending_bits += width;
        if self.pending_bits >= u64::BITS {
            self.write(bytes);
            self.at += WORD_BYTES;
            // The bits that did not fit into the word. Two shifts, because one by 64 would overflow.
            self.pending = number >> 1 >> (u64::BITS - 1 - before);
            self.pending_bits -= u64::BITS;
        }
    }

    /// The next two numbers are written before this byte.
    #[inline(always)]
    pub(crate) fn end(&self) -> usize {
        self.at + 3 * WORD_BYTES
    }

    /// Writes the pending bits; `bytes` has the padding.
    pub(crate) fn finish(self, bytes: &mut [u8]) {
        self.write(bytes);
    }

    #[inline(always)]
    fn write(&self, bytes: &mut [u8]) {
        bytes[self.at..][..WORD_BYTES].copy_from_slice(&self.pending.to_le_bytes());
    }
}

/// The word at byte `at`, or zero after the end: an index that was damaged on disk may point there.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_come_back() {
        for bits in 0..=64 {
            let number = |at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & low_bits(bits);
            let mut bytes = vec![0; packed_bytes(100, bits).expect("a small size")];
            (0..100).for_each(|at| put(&mut bytes, at * u64::from(bits), number(at)));
            let (mut writer, mut again) = (BitWriter::default(), vec![0; bytes.len()]);
            (0..100).for_each(|at| writer.push(&mut again, number(at), bits));
            writer.finish(&mut again);
            assert_eq!(again, bytes, "{bits} bits");
            for at in 0..100 {
                let bit = at * u64::from(bits);
                assert_eq!(get(&bytes, bit, low_bits(bits)), number(at), "{bits} bits");
                if bits <= SHORT_BITS_MAX {
                    assert_eq!(get_short(&bytes, bit, low_bits(bits)), number(at), "{bits} bits");
                }
            }
        }
    }
}
