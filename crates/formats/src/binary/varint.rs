//! Numbers as varints (LEB128: seven bits a byte, the lowest first) and strings after their length as one.

use basalt_base::{Error, ErrorCode, Result};

/// Bytes of the longest varint of 64 bits.
pub(crate) const VARINT_BYTES_MAX: usize = 10;

pub(crate) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn write_string(text: &[u8], out: &mut Vec<u8>) {
    write_varint(text.len() as u64, out);
    out.extend_from_slice(text);
}

/// Reads a varint a byte at a time from `next`; the error is that of `next`, or of a varint of more than 64 bits.
#[inline]
pub(crate) fn read_varint<E: From<Error>>(mut next: impl FnMut() -> Result<u8, E>) -> Result<u64, E> {
    let mut value = 0_u64;
    for index in 0..VARINT_BYTES_MAX {
        let byte = next()?;
        let bits = u64::from(byte & 0x7f);
        if index == VARINT_BYTES_MAX - 1 && byte > 1 {
            break;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Error::new(ErrorCode::IncorrectData, "a number has more than 64 bits").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for value in [0, 1, 127, 128, 300, 1 << 32, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            write_varint(value, &mut out);
            let mut bytes = out.iter().copied();
            assert_eq!(read_varint(|| Ok::<u8, Error>(bytes.next().unwrap())).unwrap(), value);
            assert_eq!(bytes.next(), None);
        }
        assert!(read_varint(|| Ok::<u8, Error>(0xff)).is_err());
    }
}
