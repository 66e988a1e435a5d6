//! Bit strings, most significant bit first: written word by word, read with one load a number.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

/// Appends bits to bytes.
pub(crate) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The bits not yet written, left-aligned.
    word: u64,
    used: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> BitWriter<'a> {
        BitWriter { out, word: 0, used: 0 }
    }

    /// Appends the lowest `count` bits of `number`, whose other bits are 0.
    pub(crate) fn push(&mut self, number: u64, count: u32) {
        if count == 0 {
            return;
        }
        let free = u64::BITS - self.used;
        if count < free {
            self.word |= number << (free - count);
            self.used += count;
            return;
        }
        let rest = count - free;
        self.out.extend_from_slice(&(self.word | (number >> rest)).to_be_bytes());
        self.word = if rest == 0 { 0 } else { number << (u64::BITS - rest) };
        self.used = rest;
    }

    /// Pads with zeroes to whole bytes.
    pub(crate) fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_be_bytes()[..bytes]);
    }
}

/// Valid bits in a peeked word: up to 7 are lost to the position inside a byte.
pub(crate) const PEEK_BITS: u32 = 57;

pub(crate) struct BitReader<'a> {
    input: &'a [u8],
    /// The position in bits. It may pass the end, which the caller checks once.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(input: &'a [u8]) -> BitReader<'a> {
        BitReader { input, at: 0 }
    }

    /// At least [`PEEK_BITS`] bits from the position on, left-aligned; zeroes after the end.
    #[inline]
    pub(crate) fn peek(&self) -> u64 {
        let rest = self.input.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => peek_end(rest),
        };
        word << (self.at % 8)
    }

    #[inline]
    pub(crate) fn skip(&mut self, bits: u32) {
        self.at += bits as usize;
    }

    /// The next `count` bits (1 to 64) as a number.
    #[inline]
    pub(crate) fn read(&mut self, count: u32) -> u64 {
        if count > PEEK_BITS {
            let low = count - 32;
            return (self.read(32) << low) | self.read(low);
        }
        let word = self.peek();
        self.skip(count);
        word >> (u64::BITS - count)
    }

    /// Whether all input is read, up to the padding of its last byte.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at.div_ceil(8) == self.input.len()
    }
}

#[cold]
fn peek_end(rest: &[u8]) -> u64 {
    let mut padded = [0; 8];
    padded[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_in_order() {
        let numbers = [(1, 1), (0, 1), (5, 3), (u64::MAX, 64), (0x1234_5678_9abc, 57), (7, 58), (1, 33)];
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        for (number, count) in numbers {
            writer.push(number, count);
        }
        writer.finish();
        let mut reader = BitReader::new(&bytes);
        for (number, count) in numbers {
            assert_eq!(reader.read(count), number);
        }
        assert!(reader.is_at_end());
    }
}
