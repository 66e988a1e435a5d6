//! `Gorilla(bytes)`: stores the XOR with the previous value as a bit string; for slowly changing floats.
//!
//! After Gorilla (Pelkonen et al., VLDB 2015, section 4.1.2), for values of any width.
//!
//! # Layout
//!
//! ```text
//! trailing bytes that are no whole value, unchanged
//! first value                                 (if there is one)
//! a bit string for every further value, most significant bit first, padded with 0 to whole bytes
//! ```
//!
//! Every further value is XORed with the previous one. The *window* is the range from the first to the last set bit
//! of the result.
//!
//! | prefix | then |
//! |---|---|
//! | `0` | nothing: the value equals the previous one |
//! | `10` | the bits in the last window |
//! | `11` | a new window: leading zeroes (up to 5 bits), length - 1 (up to 6 bits), and its bits |
//!
//! The number of values is not stored: it follows from the length of the output.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use crate::bits::{BitReader, BitWriter, PEEK_BITS};
use crate::value::{load, store, value_bits};
use crate::{Codec, CodecError};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Gorilla {
    /// Bytes of a value: 1, 2, 4 or 8.
    pub(crate) width: u8,
}

impl Codec for Gorilla {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.width {
            2 => encode::<2>(input, out),
            4 => encode::<4>(input, out),
            8 => encode::<8>(input, out),
            _ => encode::<1>(input, out),
        }
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        match self.width {
            2 => decode::<2>(input, out),
            4 => decode::<4>(input, out),
            8 => decode::<8>(input, out),
            _ => decode::<1>(input, out),
        }
        .ok_or(CodecError::Truncated { codec: "Gorilla" })
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        let width = usize::from(self.width.max(1));
        let head_bits = 2 + (leading_bits(width) + length_bits(width)) as usize;
        input_bytes + (input_bytes / width * head_bits).div_ceil(8)
    }
}

/// Bits of the field for the window's length less one.
const fn length_bits(width: usize) -> u32 {
    (8 * width).ilog2()
}

/// Bits of the field for the leading zeroes. For values of 8 bytes it is an index into [`LEADING`].
fn leading_bits(width: usize) -> u32 {
    length_bits(width).min(5)
}

/// The counts of leading zeroes that values of 8 bytes can store; for other counts the window starts a little
/// early. Floats that are close together have 12 and more, integers many more.
const LEADING: [u8; 32] = [
    0, 1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24, 26, 28, 30, 32, 34, 37, 40, 43,
    46, 49, 53, 57,
];

/// The code of a window's leading zeroes: the largest count in the table that is not above it.
#[expect(clippy::cast_possible_truncation, reason = "the table has 32 entries")]
fn leading_code<const WIDTH: usize>(zeroes: u32) -> u32 {
    if WIDTH < 8 { zeroes } else { LEADING.partition_point(|&count| u32::from(count) <= zeroes) as u32 - 1 }
}

fn leading_of<const WIDTH: usize>(code: u32) -> u32 {
    if WIDTH < 8 { code } else { u32::from(LEADING[code as usize & 31]) }
}

/// A range of a value's bits: `length` bits after `leading` ones.
#[derive(Clone, Copy)]
struct Window {
    leading: u32,
    length: u32,
}

impl Window {
    /// The window around the set bits of `change`, which is not 0.
    fn around<const WIDTH: usize>(change: u64) -> Window {
        let zeroes = change.leading_zeros() - (u64::BITS - value_bits::<WIDTH>());
        let leading = leading_of::<WIDTH>(leading_code::<WIDTH>(zeroes));
        Window { leading, length: value_bits::<WIDTH>() - leading - change.trailing_zeros() }
    }

    fn trailing<const WIDTH: usize>(self) -> u32 {
        value_bits::<WIDTH>() - self.leading - self.length
    }

    fn holds<const WIDTH: usize>(self, other: Window) -> bool {
        self.leading <= other.leading && self.trailing::<WIDTH>() <= other.trailing::<WIDTH>()
    }
}

fn encode<const WIDTH: usize>(input: &[u8], out: &mut Vec<u8>) {
    let (values, tail) = input.as_chunks::<WIDTH>();
    out.extend_from_slice(tail);
    let Some((first, values)) = values.split_first() else { return };
    out.extend_from_slice(first);
    let (leading_bits, length_bits) = (leading_bits(WIDTH), length_bits(WIDTH));
    let mut bits = BitWriter::new(out);
    let mut before = load(first);
    let mut told: Option<Window> = None;
    for value in values {
        let value = load(value);
        let change = value ^ before;
        before = value;
        if change == 0 {
            bits.push(0, 1);
            continue;
        }
        let window = Window::around::<WIDTH>(change);
        match told {
            // A window that is much too wide costs more than a new one.
            Some(told)
                if told.holds::<WIDTH>(window)
                    && told.length <= window.length + leading_bits + length_bits =>
            {
                bits.push(0b10, 2);
                bits.push(change >> told.trailing::<WIDTH>(), told.length);
            }
            _ => {
                bits.push(0b11, 2);
                bits.push(u64::from(leading_code::<WIDTH>(window.leading)), leading_bits);
                bits.push(u64::from(window.length - 1), length_bits);
                bits.push(change >> window.trailing::<WIDTH>(), window.length);
                told = Some(window);
            }
        }
    }
    bits.finish();
}

/// `None` if the input ends early, continues after the last value, or has an impossible window.
fn decode<const WIDTH: usize>(input: &[u8], out: &mut [u8]) -> Option<()> {
    let (values, out_tail) = out.as_chunks_mut::<WIDTH>();
    let (tail, input) = input.split_at_checked(out_tail.len())?;
    out_tail.copy_from_slice(tail);
    let Some((first, values)) = values.split_first_mut() else { return input.is_empty().then_some(()) };
    let (stored, input) = input.split_first_chunk::<WIDTH>()?;
    *first = *stored;
    decode_changes(input, load(stored), values)
}

#[expect(clippy::cast_possible_truncation, reason = "all numbers are at most 64")]
fn decode_changes<const WIDTH: usize>(
    input: &[u8],
    mut value: u64,
    values: &mut [[u8; WIDTH]],
) -> Option<()> {
    let (leading_bits, length_bits) = (leading_bits(WIDTH), length_bits(WIDTH));
    let mut bits = BitReader::new(input);
    let mut told = Window { leading: 0, length: value_bits::<WIDTH>() };
    let mut done = 0;
    while done < values.len() {
        let word = bits.peek();
        let same = (word.leading_zeros().min(PEEK_BITS) as usize).min(values.len() - done);
        if same > 0 {
            values[done..done + same].fill(store(value));
            bits.skip(same as u32);
            done += same;
            continue;
        }
        let mut head_bits = 2;
        if word << 1 >> 63 == 1 {
            let fields = (word << 2) >> (u64::BITS - leading_bits - length_bits);
            told.leading = leading_of::<WIDTH>((fields >> length_bits) as u32);
            told.length = (fields & ((1 << length_bits) - 1)) as u32 + 1;
            if told.leading + told.length > value_bits::<WIDTH>() {
                return None;
            }
            head_bits += leading_bits + length_bits;
        }
        let change = if head_bits + told.length <= PEEK_BITS {
            bits.skip(head_bits + told.length);
            (word << head_bits) >> (u64::BITS - told.length)
        } else {
            bits.skip(head_bits);
            bits.read(told.length)
        };
        value ^= change << told.trailing::<WIDTH>();
        values[done] = store(value);
        done += 1;
    }
    bits.is_at_end().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        for width in [1, 2, 4, 8] {
            crate::conformance::check(&Gorilla { width });
        }
    }

    #[test]
    fn equal_values_cost_a_bit() {
        let input: Vec<u8> = [1.5_f64; 8001].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut out = Vec::new();
        Gorilla { width: 8 }.encode(&input, &mut out).unwrap();
        assert_eq!(out.len(), 8 + 8000 / 8);
    }
}
