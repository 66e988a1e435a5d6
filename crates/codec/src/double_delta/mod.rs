//! `DoubleDelta`: stores the change of the difference between neighbours, in as few bits as it takes.
//!
//! The numbers have two forms. The encoder uses the one that is shorter, alone or after the next link.
//!
//! # Layout
//!
//! ```text
//! trailing bytes that are no whole value, unchanged
//! first value                                 (if there is one)
//! second value - first value                  (if there are two)
//! form u8: 2 bit string, 1 blocks, 0 bit string of the first version   (if there are more)
//! the changes of all further steps, in that form: see `stream`, `blocks`
//! ```
//!
//! A change is taken modulo the width and zigzag-coded, so that small changes of either sign are small numbers. The
//! number of values is not stored: it follows from the length of the output.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod blocks;
mod series;
mod stream;

use series::{join, split};
use stream::{Signed, Zigzag};

use crate::{Codec, CodecError};

const NAME: &str = "DoubleDelta";

const FORM_ZIGZAG_STREAM: u8 = 0;
const FORM_BLOCKS: u8 = 1;
const FORM_STREAM: u8 = 2;

/// Blocks decode several times faster, so they may be longer by this fraction.
const BLOCKS_ADVANTAGE: usize = 32;

#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubleDelta {
    /// Bytes of a value: 1, 2, 4 or 8.
    pub(crate) width: u8,
}

/// The codec of files from before there were forms: always a bit string, without a form byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubleDeltaStream {
    /// Bytes of a value: 1, 2, 4 or 8.
    pub(crate) width: u8,
}

/// Calls a function that is generic over the width.
macro_rules! with_width {
    ($width:expr, $function:ident($($argument:expr),*)) => {
        match $width {
            2 => $function::<2>($($argument),*),
            4 => $function::<4>($($argument),*),
            8 => $function::<8>($($argument),*),
            _ => $function::<1>($($argument),*),
        }
    };
}

impl Codec for DoubleDelta {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let Some(changes) = with_width!(self.width, split(input, out)) else { return Ok(()) };
        let form_at = out.len();
        out.push(FORM_BLOCKS);
        blocks::encode(&changes, out);
        let blocks_bytes = out.len() - form_at - 1;
        let stream_bytes = stream::encoded_bytes::<Signed>(&changes);
        if stream_bytes + stream_bytes / BLOCKS_ADVANTAGE < blocks_bytes {
            out.truncate(form_at);
            out.push(FORM_STREAM);
            stream::encode::<Signed>(&changes, out);
        }
        Ok(())
    }

    /// The bit string, in which a repeating series repeats at whole bytes.
    fn encode_alternative(&self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, CodecError> {
        if let Some(changes) = with_width!(self.width, split(input, out)) {
            out.push(FORM_STREAM);
            stream::encode::<Signed>(&changes, out);
        }
        Ok(true)
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        with_width!(self.width, decode(input, out)).ok_or(CodecError::Truncated { codec: NAME })
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        let changes = input_bytes / usize::from(self.width.max(1));
        input_bytes + 1 + stream::encoded_bytes_max(changes).max(blocks::encoded_bytes_max(changes))
    }
}

impl Codec for DoubleDeltaStream {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if let Some(changes) = with_width!(self.width, split(input, out)) {
            stream::encode::<Zigzag>(&changes, out);
        }
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        with_width!(self.width, decode_formless(input, out)).ok_or(CodecError::Truncated { codec: NAME })
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        input_bytes + stream::encoded_bytes_max(input_bytes / usize::from(self.width.max(1)))
    }
}

/// `None` if the input ends early, continues after the last value, or has an unknown form.
fn decode<const WIDTH: usize>(input: &[u8], out: &mut [u8]) -> Option<()> {
    let (input, series) = join::<WIDTH>(input, out)?;
    if series.values.is_empty() {
        return input.is_empty().then_some(());
    }
    let (form, input) = input.split_first()?;
    match *form {
        FORM_STREAM => stream::decode::<Signed, WIDTH>(input, series),
        FORM_ZIGZAG_STREAM => stream::decode::<Zigzag, WIDTH>(input, series),
        FORM_BLOCKS => blocks::decode(input, series),
        _ => None,
    }
}

fn decode_formless<const WIDTH: usize>(input: &[u8], out: &mut [u8]) -> Option<()> {
    let (input, series) = join::<WIDTH>(input, out)?;
    stream::decode::<Zigzag, WIDTH>(input, series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        for width in [1, 2, 4, 8] {
            crate::conformance::check(&DoubleDelta { width });
            crate::conformance::check(&DoubleDeltaStream { width });
        }
    }

    #[test]
    fn steady_series_costs_less_than_a_bit_a_value() {
        let input: Vec<u8> = (0..8194_u32).flat_map(|i| (1_600_000_000 + i * 10).to_le_bytes()).collect();
        let mut out = Vec::new();
        DoubleDelta { width: 4 }.encode(&input, &mut out).unwrap();
        assert_eq!(out.len(), 4 + 4 + 1 + 8192 / blocks::BLOCK_NUMBERS);
        out.clear();
        DoubleDeltaStream { width: 4 }.encode(&input, &mut out).unwrap();
        assert_eq!(out.len(), 4 + 4 + 8192 / 8);
    }

    #[test]
    fn strings_of_bits_from_before_there_were_signs_are_read() {
        let input: Vec<u8> = (0..3000_u32).flat_map(|i| (i * 7919 % 1000).to_le_bytes()).collect();
        let mut encoded = Vec::new();
        DoubleDeltaStream { width: 4 }.encode(&input, &mut encoded).unwrap();
        encoded.insert(2 * 4, FORM_ZIGZAG_STREAM);
        let mut decoded = vec![0; input.len()];
        DoubleDelta { width: 4 }.decode(&encoded, &mut decoded).unwrap();
        assert_eq!(decoded, input);
    }

    /// Numbers of every length, at the edges of their ranges, of both signs, in both forms.
    #[test]
    fn numbers_of_every_size_come_back() {
        let mut values = vec![0_u64];
        for shift in 0..64 {
            let edge = 1_u64 << shift;
            for change in [edge - 1, edge, edge + 1, edge.wrapping_neg()] {
                values.push(values[values.len() - 1].wrapping_add(change));
            }
        }
        let input: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let codec = DoubleDelta { width: 8 };
        let (mut encoded, mut alternative) = (Vec::new(), Vec::new());
        codec.encode(&input, &mut encoded).unwrap();
        assert!(codec.encode_alternative(&input, &mut alternative).unwrap());
        for encoded in [encoded, alternative] {
            let mut decoded = vec![0; input.len()];
            codec.decode(&encoded, &mut decoded).unwrap();
            assert_eq!(decoded, input);
        }
    }
}
