//! The primitives of binary protocols: bytes, little-endian numbers, varints, strings.

use std::io::{self, Read};

use basalt_base::{Error, ErrorCode};

/// The most bytes of a varint of 64 bits.
const VARINT_BYTES_MAX: usize = 10;

/// How much memory a string gets before its bytes have arrived.
const STRING_STEP: usize = 64 << 10;

/// Why a message was not read.
#[derive(Debug)]
pub enum ReadError {
    /// The input ended inside of the message. At least as many more bytes are needed.
    Incomplete(usize),
    Failed(Error),
}

/// A value, or the reason why it was not read.
pub type ReadResult<T> = std::result::Result<T, ReadError>;

impl From<Error> for ReadError {
    fn from(error: Error) -> ReadError {
        ReadError::Failed(error)
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return ReadError::Incomplete(1);
        }
        match error.downcast::<Error>() {
            Ok(own) => ReadError::Failed(own),
            Err(other) => ReadError::Failed(Error::new(ErrorCode::NetworkError, other.to_string())),
        }
    }
}

impl ReadError {
    /// The error for a caller who has no more bytes.
    pub fn into_error(self, what: &str) -> Error {
        match self {
            ReadError::Incomplete(_) => {
                Error::new(ErrorCode::CannotReadAllData, format!("the bytes end inside of {what}"))
            }
            ReadError::Failed(error) => error,
        }
    }
}

/// A message that is not what the protocol says.
pub(crate) fn malformed(what: impl Into<String>) -> ReadError {
    ReadError::Failed(Error::new(ErrorCode::UnexpectedPacketFromClient, what.into()))
}

/// The primitives of a message, read from `R`.
pub(crate) trait ReadPrimitives: Read {
    fn array<const N: usize>(&mut self) -> ReadResult<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn byte(&mut self) -> ReadResult<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn number64(&mut self) -> ReadResult<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn number32(&mut self) -> ReadResult<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// 7 bits a byte, the lowest first.
    fn varint(&mut self) -> ReadResult<u64> {
        let mut value = 0_u64;
        for index in 0..VARINT_BYTES_MAX {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(malformed("a variable-length number has more than 10 bytes"))
    }

    /// Bytes with their number in front, at most `most`.
    fn prefixed(&mut self, most: usize, what: &str) -> ReadResult<Vec<u8>> {
        let length = self.varint()?;
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= most) else {
            return Err(malformed(format!("{what} has {length} bytes, the limit is {most}")));
        };
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let start = bytes.len();
            bytes.resize(length.min(start + STRING_STEP.max(start)), 0);
            match self.read_exact(&mut bytes[start..]) {
                Ok(()) => {}
                // A caller that waits for the rest of a long string then reads its beginning a few times only.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(ReadError::Incomplete(length - bytes.len() + 1));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(bytes)
    }

    /// A string that must be UTF-8.
    fn text(&mut self, most: usize, what: &str) -> ReadResult<String> {
        String::from_utf8(self.prefixed(most, what)?).map_err(|_| malformed(format!("{what} is not UTF-8")))
    }
}

impl<R: Read + ?Sized> ReadPrimitives for R {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{put_bytes, put_varint};

    #[test]
    fn varints_of_all_lengths_come_back() {
        for shift in 0..64 {
            for value in [(1_u64 << shift) - 1, 1 << shift] {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, value);
                assert_eq!(bytes.as_slice().varint().expect("whole"), value);
                assert!(matches!(bytes[..bytes.len() - 1].as_ref().varint(), Err(ReadError::Incomplete(_))));
            }
        }
        assert!(matches!([0xff; 11].as_slice().varint(), Err(ReadError::Failed(_))));
    }

    #[test]
    fn a_string_takes_no_memory_before_it_arrives() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, 1 << 40);
        assert!(matches!(bytes.as_slice().prefixed(1 << 20, "a name"), Err(ReadError::Failed(_))));
        let missing = bytes.as_slice().prefixed(1 << 41, "a name");
        assert!(matches!(missing, Err(ReadError::Incomplete(bytes)) if bytes > 1 << 39), "{missing:?}");
        let long = vec![b'x'; 200_000];
        bytes.clear();
        put_bytes(&mut bytes, &long);
        assert_eq!(bytes.as_slice().prefixed(1 << 20, "a name").expect("whole"), long);
    }
}
