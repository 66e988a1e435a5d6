//! Compressed frames: ClickHouse's form of compressed data in its native protocol and in HTTP bodies.
//!
//! A frame is a checksum of 16 bytes (CityHash128 1.0.2 of all that follows), the byte of a method, the size of the
//! frame without the checksum (32 bits), the size of its data (32 bits), and the compressed data.

use std::io::{self, BufRead, Read};

use basalt_base::{Error, ErrorCode, Result};
use cityhash_rs::cityhash_102_128;

use crate::read::{ReadError, ReadPrimitives, ReadResult};

const CHECKSUM_BYTES: usize = 16;
/// Method and sizes.
const HEADER_BYTES: usize = 9;

/// The data of one frame that is written.
const FRAME_DATA_BYTES: usize = 1 << 20;

/// The largest frame that is read, and the most data in it.
const FRAME_BYTES_MAX: usize = 256 << 20;

/// How much is allocated before compressed data have arrived.
const STEP: usize = 1 << 20;

/// LZ4 cannot expand a byte to more than this.
const LZ4_RATIO_MAX: usize = 255;

/// How the data of a frame are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    None,
    #[default]
    Lz4,
    Zstd,
}

impl Method {
    const ALL: [Method; 3] = [Method::None, Method::Lz4, Method::Zstd];

    /// As the setting `network_compression_method` names it.
    pub fn parse(name: &str) -> Result<Method> {
        match name.to_ascii_uppercase().as_str() {
            "NONE" => Ok(Method::None),
            "LZ4" | "LZ4HC" => Ok(Method::Lz4),
            "ZSTD" => Ok(Method::Zstd),
            _ => Err(Error::new(
                ErrorCode::UnknownCompressionMethod,
                format!("compression method `{name}` is not known: there are NONE, LZ4, LZ4HC and ZSTD"),
            )),
        }
    }

    const fn byte(self) -> u8 {
        match self {
            Method::None => 0x02,
            Method::Lz4 => 0x82,
            Method::Zstd => 0x90,
        }
    }
}

/// Appends `data` as frames.
pub fn compress(data: &[u8], method: Method, out: &mut Vec<u8>) -> Result<()> {
    for piece in data.chunks(FRAME_DATA_BYTES) {
        compress_piece(piece, method, out)?;
    }
    Ok(())
}

fn compress_piece(piece: &[u8], method: Method, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let body = start + CHECKSUM_BYTES + HEADER_BYTES;
    out.resize(body, 0);
    match method {
        Method::None => out.extend_from_slice(piece),
        Method::Lz4 => {
            let bound = lz4::block::compress_bound(piece.len()).map_err(|e| cannot_compress(&e))?;
            out.resize(body + bound, 0);
            let written = lz4::block::compress_to_buffer(piece, None, false, &mut out[body..]);
            out.truncate(body + written.map_err(|e| cannot_compress(&e))?);
        }
        Method::Zstd => {
            let compressed = zstd::bulk::compress(piece, 1).map_err(|e| cannot_compress(&e))?;
            out.extend_from_slice(&compressed);
        }
    }
    let frame = &mut out[start + CHECKSUM_BYTES..];
    let (frame_bytes, data_bytes) = (frame.len() as u32, piece.len() as u32);
    frame[0] = method.byte();
    frame[1..5].copy_from_slice(&frame_bytes.to_le_bytes());
    frame[5..HEADER_BYTES].copy_from_slice(&data_bytes.to_le_bytes());
    let checksum = checksum(frame);
    out[start..start + CHECKSUM_BYTES].copy_from_slice(&checksum);
    Ok(())
}

fn checksum(frame: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash = cityhash_102_128(frame);
    let mut bytes = [0; CHECKSUM_BYTES];
    bytes[..8].copy_from_slice(&((hash >> 64) as u64).to_le_bytes());
    bytes[8..].copy_from_slice(&(hash as u64).to_le_bytes());
    bytes
}

/// The bytes of the frame that begins with `bytes`; `None` if too few of them have arrived. Fails if it is too long.
pub fn length(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(size) = bytes.get(CHECKSUM_BYTES + 1..CHECKSUM_BYTES + 5) else { return Ok(None) };
    let frame_bytes = size.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
    if frame_bytes > FRAME_BYTES_MAX {
        let what =
            format!("a compressed frame of {frame_bytes} bytes: the bytes are probably not compressed");
        return Err(Error::new(ErrorCode::CannotDecompress, what));
    }
    Ok(Some(CHECKSUM_BYTES + frame_bytes))
}

/// Reads one frame and returns its data.
pub fn read_frame(input: &mut impl Read) -> ReadResult<Vec<u8>> {
    let expected: [u8; CHECKSUM_BYTES] = input.array()?;
    let header: [u8; HEADER_BYTES] = input.array()?;
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (frame_bytes, data_bytes) = (word(1) as usize, word(5) as usize);
    if !(HEADER_BYTES..=FRAME_BYTES_MAX).contains(&frame_bytes) || data_bytes > FRAME_BYTES_MAX {
        let what = format!(
            "a compressed frame says that it has {frame_bytes} bytes with {data_bytes} bytes of data: the limit is \
             {FRAME_BYTES_MAX}, so the bytes are probably not compressed"
        );
        return Err(damaged(what));
    }
    let Some(method) = Method::ALL.into_iter().find(|method| method.byte() == header[0]) else {
        return Err(ReadError::Failed(Error::new(
            ErrorCode::UnknownCompressionMethod,
            format!("a compressed frame has the unknown method {:#04x}", header[0]),
        )));
    };
    let frame = read_body(input, &header, frame_bytes)?;
    if checksum(&frame) != expected {
        return Err(ReadError::Failed(Error::new(
            ErrorCode::ChecksumDoesntMatch,
            "the checksum of a compressed frame does not match: its bytes were changed on the way",
        )));
    }
    decompress(&frame[HEADER_BYTES..], method, data_bytes).map_err(ReadError::Failed)
}

/// The header and the compressed data, in one piece for the checksum.
fn read_body(input: &mut impl Read, header: &[u8], frame_bytes: usize) -> ReadResult<Vec<u8>> {
    let mut frame = header.to_vec();
    while frame.len() < frame_bytes {
        let start = frame.len();
        frame.resize(frame_bytes.min(start + STEP.max(start)), 0);
        input.read_exact(&mut frame[start..])?;
    }
    Ok(frame)
}

fn decompress(compressed: &[u8], method: Method, data_bytes: usize) -> Result<Vec<u8>> {
    let data = match method {
        Method::None => compressed.to_vec(),
        Method::Lz4 => {
            if data_bytes > compressed.len().saturating_mul(LZ4_RATIO_MAX) {
                return Err(wrong_data(method, "it claims more data than LZ4 can hold"));
            }
            let mut data = vec![0; data_bytes];
            let written = lz4::block::decompress_to_buffer(compressed, Some(data_bytes as i32), &mut data)
                .map_err(|error| wrong_data(method, &error.to_string()))?;
            data.truncate(written);
            data
        }
        Method::Zstd => {
            let mut data = Vec::with_capacity(data_bytes.min(STEP));
            let decoder = zstd::stream::read::Decoder::with_buffer(compressed)
                .map_err(|error| wrong_data(method, &error.to_string()))?;
            // One byte more tells that there are too many.
            let read = decoder.take(data_bytes as u64 + 1).read_to_end(&mut data);
            read.map_err(|error| wrong_data(method, &error.to_string()))?;
            data
        }
    };
    if data.len() != data_bytes {
        return Err(wrong_data(method, "its data are not as long as it says"));
    }
    Ok(data)
}

/// The data of a sequence of frames.
pub struct FrameReader<R> {
    input: R,
    data: Vec<u8>,
    position: usize,
}

impl<R: Read> FrameReader<R> {
    pub fn new(input: R) -> FrameReader<R> {
        FrameReader { input, data: Vec::new(), position: 0 }
    }

    /// The bytes after the frames that were read.
    pub fn input_mut(&mut self) -> &mut R {
        &mut self.input
    }

    /// Whether all data of the frames that were read are consumed.
    pub fn is_drained(&self) -> bool {
        self.position == self.data.len()
    }

    /// Reads the next frame; `false` at the end of the input.
    fn advance(&mut self) -> io::Result<bool> {
        let mut first = [0];
        loop {
            match self.input.read(&mut first) {
                Ok(0) => return Ok(false),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.data =
            read_frame(&mut first.as_slice().chain(&mut self.input)).map_err(|error| match error {
                ReadError::Incomplete(_) => io::Error::from(io::ErrorKind::UnexpectedEof),
                ReadError::Failed(error) => io::Error::other(error),
            })?;
        self.position = 0;
        Ok(true)
    }
}

impl<R: Read> BufRead for FrameReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.is_drained() {
            if !self.advance()? {
                return Ok(&[]);
            }
        }
        Ok(&self.data[self.position..])
    }

    fn consume(&mut self, count: usize) {
        self.position = self.data.len().min(self.position + count);
    }
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let data = self.fill_buf()?;
        let count = out.len().min(data.len());
        out[..count].copy_from_slice(&data[..count]);
        self.consume(count);
        Ok(count)
    }
}

fn cannot_compress(source: &io::Error) -> Error {
    Error::new(ErrorCode::CannotCompress, format!("a frame cannot be compressed: {source}"))
}

fn damaged(what: String) -> ReadError {
    ReadError::Failed(Error::new(ErrorCode::CannotDecompress, what))
}

fn wrong_data(method: Method, why: &str) -> Error {
    Error::new(ErrorCode::CannotDecompress, format!("a compressed frame ({method:?}) is damaged: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Vec<u8>> {
        let mixed = (0..3 * FRAME_DATA_BYTES / 2).map(|index| ((index * index) >> 7) as u8).collect();
        vec![b"x".to_vec(), b"abcabcabcabc".repeat(100), vec![0; FRAME_DATA_BYTES], mixed]
    }

    #[test]
    fn data_come_back_whatever_the_method() {
        for method in Method::ALL {
            for data in samples() {
                let mut frames = Vec::new();
                compress(&data, method, &mut frames).expect("it compresses");
                let mut found = Vec::new();
                let mut reader = FrameReader::new(frames.as_slice());
                reader.read_to_end(&mut found).expect("it decompresses");
                assert!(found == data && reader.is_drained(), "{method:?}, {} bytes", data.len());
            }
        }
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_an_error() {
        for method in Method::ALL {
            let mut frame = Vec::new();
            compress(b"some data, some data, some data", method, &mut frame).expect("it compresses");
            for bit in 0..frame.len() * 8 {
                let mut changed = frame.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(read_frame(&mut changed.as_slice()).is_err(), "{method:?}, bit {bit}");
            }
            for length in 0..frame.len() {
                let result = read_frame(&mut &frame[..length]);
                assert!(matches!(result, Err(ReadError::Incomplete(_))), "{method:?}, {length} bytes");
            }
        }
    }

    #[test]
    fn a_frame_cannot_claim_more_than_it_has() {
        for method in [Method::Lz4, Method::Zstd] {
            let mut frame = Vec::new();
            compress(b"xxxxxxxxxxxxxxxxxxxxxxxxxx", method, &mut frame).expect("it compresses");
            for claimed in [0_u32, 25, 27, 1 << 20, FRAME_BYTES_MAX as u32] {
                frame[21..25].copy_from_slice(&claimed.to_le_bytes());
                let checksum = checksum(&frame[CHECKSUM_BYTES..]);
                frame[..CHECKSUM_BYTES].copy_from_slice(&checksum);
                let Err(ReadError::Failed(error)) = read_frame(&mut frame.as_slice()) else {
                    panic!("{method:?}: {claimed} bytes were found");
                };
                assert_eq!(error.code(), ErrorCode::CannotDecompress);
            }
        }
    }

    /// A frame that ClickHouse wrote: the number 7 in the file of a UInt32 column.
    #[test]
    fn a_frame_of_clickhouse_is_read() {
        let frame = "0a99243cd1422ab11887a046c4c7cb7e90160000000400000028b52ffd200421000007000000";
        let byte = |at: usize| u8::from_str_radix(&frame[at..at + 2], 16).expect("digits");
        let frame: Vec<u8> = (0..frame.len()).step_by(2).map(byte).collect();
        assert_eq!(read_frame(&mut frame.as_slice()).expect("it decompresses"), 7_u32.to_le_bytes());
    }
}
