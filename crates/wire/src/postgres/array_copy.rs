//! The text data of COPY FROM with arrays in braces, as lines with arrays in brackets.

use std::io::{self, BufRead, BufReader, Read};

use basalt_base::{Error, ErrorCode};
use basalt_formats::text::unescape;

use super::Format;
use super::oid;
use super::parameter::read_parameter;

const DELIMITER: u8 = b'\t';

/// The longest line.
const LINE_BYTES_MAX: u64 = 128 << 20;

/// Reads lines of the text form with tabs between the values, and gives lines of TabSeparated.
pub struct ArrayCopy<R> {
    input: BufReader<R>,
    /// The types of the columns.
    types: Vec<u32>,
    null: Vec<u8>,
    line: Vec<u8>,
    /// How much of `line` was given.
    given: usize,
}

impl<R: Read> ArrayCopy<R> {
    /// `types` are the numbers of the columns' types; `null` stands for NULL.
    pub fn new(input: R, types: Vec<u32>, null: &str) -> ArrayCopy<R> {
        ArrayCopy { input: BufReader::new(input), types, null: null.into(), line: Vec::new(), given: 0 }
    }

    /// Whether one of the types is an array.
    pub fn is_needed(types: &[u32]) -> bool {
        types.iter().any(|ty| oid::element(*ty).is_some())
    }

    fn next_line(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.len() as u64 == LINE_BYTES_MAX {
            let what = format!("a line of COPY has more than {LINE_BYTES_MAX} bytes");
            return Err(io::Error::other(Error::new(ErrorCode::LimitExceeded, what)));
        }
        self.line.clear();
        self.given = 0;
        let (values, end) = match line.strip_suffix(b"\n") {
            Some(values) => (values, &b"\n"[..]),
            None => (line.as_slice(), &b""[..]),
        };
        // A tab within a value is written with a backslash.
        for (index, value) in values.split(|byte| *byte == DELIMITER).enumerate() {
            if index > 0 {
                self.line.push(DELIMITER);
            }
            match self.types.get(index) {
                Some(ty) if oid::element(*ty).is_some() && value != self.null.as_slice() => {
                    let mut text = Vec::new();
                    unescape(value, &mut text).map_err(io::Error::other)?;
                    let array = read_parameter(*ty, Format::Text, &text).map_err(io::Error::other)?;
                    // Its elements are in quotes, with escapes of their own.
                    self.line.extend_from_slice(&array.text);
                }
                _ => self.line.extend_from_slice(value),
            }
        }
        self.line.extend_from_slice(end);
        Ok(())
    }
}

impl<R: Read> Read for ArrayCopy<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.line.len() {
            self.next_line()?;
        }
        let rest = &self.line[self.given..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> io::Result<String> {
        let mut out = String::new();
        let types = vec![oid::INT4, 1009];
        ArrayCopy::new(text.as_bytes(), types, "\\N").read_to_string(&mut out).map(|_| out)
    }

    #[test]
    fn arrays_get_brackets() {
        let text = "1\t{a,\"b\\\\t\",NULL}\n\\N\t\\N\n2\t{}";
        assert_eq!(lines(text).expect("arrays"), "1\t['a','bt',NULL]\n\\N\t\\N\n2\t[]");
        assert!(lines("1\t[1]\n").is_err());
        assert_eq!(lines("").expect("no rows"), "");
    }
}
