//! Small numbers in few bytes (LEB128): seven bits in a byte, the lowest first.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

const BITS: u32 = 7;
const GOES_ON: u8 = 1 << BITS;

pub(super) fn put(mut number: u32, out: &mut Vec<u8>) {
    while number >= u32::from(GOES_ON) {
        out.push(GOES_ON | number.to_le_bytes()[0]);
        number >>= BITS;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Takes a number off the front of `input`; `None` if it does not end there or is too large.
#[inline]
pub(super) fn take(input: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0_u32, 0);
    while shift < u32::BITS {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        number |= u32::from(byte & !GOES_ON) << shift;
        if byte & GOES_ON == 0 {
            return Some(number);
        }
        shift += BITS;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_truncated_ones_do_not() {
        for number in (0..32).flat_map(|bits| [(1 << bits) - 1, 1 << bits]).chain([u32::MAX]) {
            let mut bytes = Vec::new();
            put(number, &mut bytes);
            assert_eq!(take(&mut bytes.as_slice()), Some(number));
            assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(take(&mut [0xff; 6].as_slice()), None);
    }
}
