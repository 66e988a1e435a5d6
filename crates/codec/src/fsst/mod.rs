//! `FSST`: text as codes of a byte each, which stand for strings of up to eight bytes.
//!
//! "FSST: Fast Random Access String Compression" by Boncz, Neumann and Leis (PVLDB 13, 2020). Training and matching
//! differ, see [`symbols`]. A code does not depend on the codes before it, so a row can be decoded alone if the
//! position of its codes is known.
//!
//! # Layout
//!
//! ```text
//! counts     8 x u8   the numbers of symbols of 1, 2 .. 8 bytes; at most 255 in total
//! symbols             their bytes, the shortest symbols first: their order is their code
//! codes               a byte a symbol; 255 is followed by a byte that stands for itself
//! ```

mod symbols;

use symbols::{Encoder, SYMBOL_BYTES_MAX, SYMBOLS_MAX, Symbol};

use crate::{Codec, CodecError};

/// The code before a literal byte.
const ESCAPE: u8 = u8::MAX;
const _: () = assert!(SYMBOLS_MAX == ESCAPE as usize);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fsst;

impl Codec for Fsst {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if input.is_empty() {
            return Ok(());
        }
        let symbols = symbols::train(input);
        write_symbols(&symbols, out);
        Encoder::new(&symbols).encode(input, out);
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        if input.is_empty() && out.is_empty() {
            return Ok(());
        }
        let (decoder, codes) = Decoder::read(input)?;
        decoder.decode(codes, out)
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        SYMBOL_BYTES_MAX + SYMBOLS_MAX * SYMBOL_BYTES_MAX + 2 * input_bytes
    }
}

/// `symbols` are in the order of their lengths.
fn write_symbols(symbols: &[Symbol], out: &mut Vec<u8>) {
    let mut counts = [0_u8; SYMBOL_BYTES_MAX];
    for symbol in symbols {
        counts[symbol.len() - 1] += 1;
    }
    out.extend_from_slice(&counts);
    for symbol in symbols {
        out.extend_from_slice(symbol.bytes().get(..symbol.len()).unwrap_or_default());
    }
}

/// The string that each code stands for.
struct Decoder {
    symbols: [[u8; SYMBOL_BYTES_MAX]; 256],
    /// 0 for the escape, and for codes that mean nothing.
    lengths: [u8; 256],
}

impl Decoder {
    /// Takes the symbols from the front of `input`; what is left are the codes.
    fn read(input: &[u8]) -> Result<(Decoder, &[u8]), CodecError> {
        let mut decoder = Decoder { symbols: [[0; SYMBOL_BYTES_MAX]; 256], lengths: [0; 256] };
        let (counts, mut rest) =
            input.split_first_chunk::<SYMBOL_BYTES_MAX>().ok_or(CodecError::Truncated { codec: "FSST" })?;
        let count: usize = counts.iter().map(|&count| usize::from(count)).sum();
        if count > SYMBOLS_MAX {
            return Err(malformed(format!("a table of {count} symbols")));
        }
        let lengths = (1..).zip(counts).flat_map(|(len, &count)| std::iter::repeat_n(len, count.into()));
        for (code, len) in lengths.enumerate() {
            let (symbol, after) =
                rest.split_at_checked(len).ok_or(CodecError::Truncated { codec: "FSST" })?;
            decoder.symbols[code][..len].copy_from_slice(symbol);
            decoder.lengths[code] = len as u8;
            rest = after;
        }
        Ok((decoder, rest))
    }

    /// Fills `out` exactly.
    fn decode(&self, codes: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let (mut from, mut to) = (0, 0);
        // Writes whole words, which may be longer than the symbol, while they fit.
        while let (Some(&code), Some(word)) =
            (codes.get(from), out.get_mut(to..).and_then(<[u8]>::first_chunk_mut))
        {
            *word = self.symbols[usize::from(code)];
            let len = usize::from(self.lengths[usize::from(code)]);
            (from, to) = (from + 1, to + len);
            if len == 0 {
                word[0] = escaped(code, codes.get(from))?;
                (from, to) = (from + 1, to + 1);
            }
        }
        while let Some(&code) = codes.get(from) {
            let len = usize::from(self.lengths[usize::from(code)]);
            let literal;
            let symbol = if len == 0 {
                from += 1;
                literal = [escaped(code, codes.get(from))?];
                &literal[..]
            } else {
                &self.symbols[usize::from(code)][..len]
            };
            let end = to + symbol.len();
            let room = out.get_mut(to..end).ok_or_else(|| malformed("it is too long".to_owned()))?;
            room.copy_from_slice(symbol);
            (from, to) = (from + 1, end);
        }
        if to == out.len() { Ok(()) } else { Err(CodecError::Truncated { codec: "FSST" }) }
    }
}

/// The literal byte after an escape.
#[cold]
fn escaped(code: u8, next: Option<&u8>) -> Result<u8, CodecError> {
    if code != ESCAPE {
        return Err(malformed(format!("code {code} is no symbol's")));
    }
    next.copied().ok_or(CodecError::Truncated { codec: "FSST" })
}

fn malformed(reason: String) -> CodecError {
    CodecError::Malformed { codec: "FSST", reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Fsst.encode(input, &mut out).unwrap();
        out
    }

    #[test]
    fn conforms() {
        crate::conformance::check(&Fsst);
    }

    #[test]
    fn addresses_take_less_than_half_of_their_bytes() {
        let text: Vec<u8> = (0..3000_u32)
            .flat_map(|i| format!("https://example.com/shop/{}/item?id={}&", i % 7, i * 77).into_bytes())
            .collect();
        let encoded = encoded(&text);
        assert!(encoded.len() * 2 < text.len(), "{} of {}", encoded.len(), text.len());
    }

    #[test]
    fn rows_are_decoded_alone() {
        let rows: Vec<String> = (0..500).map(|i| format!("customer number {i} of Springfield")).collect();
        let symbols = symbols::train(rows.concat().as_bytes());
        let encoder = Encoder::new(&symbols);
        let mut out = Vec::new();
        write_symbols(&symbols, &mut out);
        let (decoder, _) = Decoder::read(&out).unwrap();
        for row in &rows {
            let mut codes = Vec::new();
            encoder.encode(row.as_bytes(), &mut codes);
            let mut decoded = vec![0; row.len()];
            decoder.decode(&codes, &mut decoded).unwrap();
            assert_eq!(decoded, row.as_bytes());
        }
    }

    #[test]
    fn codes_without_a_symbol_and_lengths_that_differ_are_refused() {
        let mut decoded = [0; 3];
        // One symbol, "ab".
        let table = [0, 1, 0, 0, 0, 0, 0, 0, b'a', b'b'];
        let decode = |codes: &[u8], out: &mut [u8]| Fsst.decode(&[&table, codes].concat(), out);
        decode(&[0, ESCAPE, b'c'], &mut decoded).unwrap();
        assert_eq!(&decoded, b"abc");
        for codes in [&[0][..], &[0, ESCAPE], &[0, 0], &[0, 1], &[0, ESCAPE, b'c', 0]] {
            decode(codes, &mut decoded).unwrap_err();
        }
        Fsst.decode(&[255, 1, 0, 0, 0, 0, 0, 0], &mut decoded).unwrap_err();
    }
}
