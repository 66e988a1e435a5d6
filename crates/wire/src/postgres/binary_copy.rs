//! The binary data of COPY FROM, as lines of the text form.

use std::io::{self, Read};

use basalt_base::{Error, ErrorCode};
use basalt_formats::text::write_escaped;

use super::Format;
use super::copy_writer::{BINARY_END, BINARY_HEAD};
use super::oid;
use super::parameter::read_parameter;

/// The bytes that say what the data are.
const SIGNATURE_BYTES: usize = 11;
/// The longest extension of the head, which is skipped.
const EXTENSION_BYTES_MAX: u64 = 1 << 20;
/// The longest value.
const VALUE_BYTES_MAX: usize = 128 << 20;
/// How much memory a value gets before its bytes have arrived.
const VALUE_STEP: usize = 64 << 10;
/// Lines are made until they have as many bytes.
const LINES_BYTES: usize = 64 << 10;

/// Reads binary data, and gives lines of TabSeparated.
pub struct BinaryCopy<R> {
    input: R,
    /// The types of the columns.
    types: Vec<u32>,
    lines: Vec<u8>,
    /// How much of `lines` was given.
    given: usize,
    state: State,
}

#[derive(PartialEq, Eq)]
enum State {
    Head,
    Rows,
    Ended,
}

impl<R: Read> BinaryCopy<R> {
    /// `types` are the numbers of the columns' types.
    pub fn new(input: R, types: Vec<u32>) -> BinaryCopy<R> {
        BinaryCopy { input, types, lines: Vec::new(), given: 0, state: State::Head }
    }

    fn read_head(&mut self) -> io::Result<()> {
        let head: [u8; BINARY_HEAD.len()] = self.array()?;
        if head[..SIGNATURE_BYTES] != BINARY_HEAD[..SIGNATURE_BYTES] {
            return Err(malformed("they do not begin with the signature PGCOPY"));
        }
        let [.., a, b, c, d] = head;
        let extension = u64::from(u32::from_be_bytes([a, b, c, d]));
        if extension > EXTENSION_BYTES_MAX {
            return Err(malformed("their head is too long"));
        }
        io::copy(&mut (&mut self.input).take(extension), &mut io::sink())?;
        Ok(())
    }

    /// Appends a line; `false` at the end.
    fn read_row(&mut self) -> io::Result<bool> {
        let Some(count) = self.count()? else { return Ok(false) };
        if count == BINARY_END {
            return match self.input.read(&mut [0])? {
                0 => Ok(false),
                _ => Err(malformed("there are bytes after their end")),
            };
        }
        if usize::from(count) != self.types.len() {
            let what = format!("a row has {count} values, expected {}", self.types.len());
            return Err(malformed(&what));
        }
        for index in 0..self.types.len() {
            if index > 0 {
                self.lines.push(b'\t');
            }
            match u32::from_be_bytes(self.array()?) {
                u32::MAX => self.lines.extend_from_slice(b"\\N"),
                length => {
                    let value = self.value(length as usize)?;
                    let value = read_parameter(self.types[index], Format::Binary, &value)
                        .map_err(io::Error::other)?;
                    match oid::element(self.types[index]) {
                        // Its elements are in quotes, with escapes of their own.
                        Some(_) => self.lines.extend_from_slice(&value.text),
                        None => write_escaped(&value.text, &mut self.lines),
                    }
                }
            }
        }
        self.lines.push(b'\n');
        Ok(true)
    }

    /// The number of values of the next row; `None` if the data end here without saying so, as some clients do.
    fn count(&mut self) -> io::Result<Option<u16>> {
        let mut bytes = [0; 2];
        if self.input.read(&mut bytes[..1])? == 0 {
            return Ok(None);
        }
        self.input.read_exact(&mut bytes[1..]).map_err(early_end)?;
        Ok(Some(u16::from_be_bytes(bytes)))
    }

    fn value(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > VALUE_BYTES_MAX {
            return Err(malformed(&format!("a value has {length} bytes, the limit is {VALUE_BYTES_MAX}")));
        }
        let mut value = Vec::new();
        while value.len() < length {
            let start = value.len();
            value.resize(length.min(start + VALUE_STEP.max(start)), 0);
            self.input.read_exact(&mut value[start..]).map_err(early_end)?;
        }
        Ok(value)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(early_end)?;
        Ok(bytes)
    }

    fn make_lines(&mut self) -> io::Result<()> {
        self.lines.clear();
        self.given = 0;
        if self.state == State::Head {
            self.read_head()?;
            self.state = State::Rows;
        }
        while self.state == State::Rows && self.lines.len() < LINES_BYTES {
            if !self.read_row()? {
                self.state = State::Ended;
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for BinaryCopy<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.lines.len() && self.state != State::Ended {
            self.make_lines()?;
        }
        let rest = &self.lines[self.given..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

fn early_end(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => malformed("they end too early"),
        _ => error,
    }
}

fn malformed(what: &str) -> io::Error {
    let code = ErrorCode::CannotParseInput;
    io::Error::other(Error::new(code, format!("the binary data of COPY cannot be read: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(rows: &[&[u8]]) -> Vec<u8> {
        let mut bytes = BINARY_HEAD.to_vec();
        rows.iter().for_each(|row| bytes.extend_from_slice(row));
        bytes
    }

    fn lines(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        BinaryCopy::new(bytes, vec![oid::INT4, oid::TEXT]).read_to_string(&mut text).map(|_| text)
    }

    const ROW: &[u8] = b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02a\t";

    #[test]
    fn rows_become_lines() {
        let bytes = data(&[ROW, b"\0\x02\xff\xff\xff\xff\0\0\0\0", b"\xff\xff"]);
        assert_eq!(lines(&bytes).expect("whole"), "7\ta\\t\n\\N\t\n");
        let rows_end = bytes.len() - 2;
        let ends = [BINARY_HEAD.len(), BINARY_HEAD.len() + ROW.len(), rows_end];
        for end in 0..bytes.len() {
            assert_eq!(lines(&bytes[..end]).is_ok(), ends.contains(&end), "{end}");
        }
    }

    #[test]
    fn other_data_are_refused() {
        for bytes in [
            b"1\ta\n".to_vec(),
            data(&[b"\0\x01\0\0\0\0"]),
            data(&[b"\0\x02\0\0\0\x02\0\0\0\0\0\0"]),
            data(&[ROW, b"\xff\xffmore"]),
        ] {
            assert!(lines(&bytes).is_err(), "{bytes:?}");
        }
    }
}
