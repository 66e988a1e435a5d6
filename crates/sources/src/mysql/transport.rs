//! Reads and writes packets, plain or in frames compressed by zlib.
//!
//! Layout of a frame: its length in 24 bits, little-endian, a sequence number, the uncompressed length in 24 bits
//! (0: not compressed), and the payload. Packets begin and end anywhere in a frame.
//!
//! Invariant: every packet sent in frames is a command, so its frames are numbered from 0.

use std::io::{Read, Write};

use basalt_base::{Error, ErrorCode, Result};
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::socket::Socket;
use crate::{Limits, TlsOptions};

const HEAD_BYTES: usize = 7;
const FRAME_BYTES_MAX: usize = (1 << 24) - 1;
/// Fewer bytes are not compressed, as in MySQL.
const COMPRESSED_BYTES_MIN: usize = 50;

pub(super) struct Transport {
    socket: Socket,
    frames: Option<Frames>,
}

#[derive(Default)]
struct Frames {
    /// The payload of received frames.
    input: Vec<u8>,
    at: usize,
}

impl Transport {
    pub(super) fn new(socket: Socket) -> Transport {
        Transport { socket, frames: None }
    }

    /// Starts TLS on the connection.
    pub(super) fn protected(self, host: &str, tls: &TlsOptions) -> Result<Transport> {
        Ok(Transport { socket: self.socket.protected(host, tls)?, ..self })
    }

    /// Switches to compressed frames, after the login.
    pub(super) fn compress(&mut self) {
        self.frames = Some(Frames::default());
    }

    pub(super) fn renew(&mut self, limits: Limits) {
        self.socket.renew(limits);
    }

    /// Whether the connection is open and has no unread bytes.
    pub(super) fn is_idle(&mut self) -> bool {
        self.frames.as_ref().is_none_or(|frames| frames.at == frames.input.len()) && self.socket.is_idle()
    }

    pub(super) fn is_protected(&self) -> bool {
        self.socket.is_protected()
    }

    pub(super) fn peer(&self) -> &str {
        self.socket.peer()
    }

    pub(super) fn send(&mut self, packet: &[u8]) -> Result<()> {
        if self.frames.is_none() {
            return self.socket.send(packet);
        }
        for (sequence, bytes) in packet.chunks(FRAME_BYTES_MAX).enumerate() {
            let sequence = u8::try_from(sequence).map_err(Error::logical)?;
            self.socket.send(&encode(bytes, sequence).map_err(Error::logical)?)?;
        }
        Ok(())
    }

    /// The next `count` bytes of packets.
    pub(super) fn take(&mut self, count: usize) -> Result<&[u8]> {
        let Some(frames) = &mut self.frames else { return Socket::take(&mut self.socket, count) };
        while frames.input.len() - frames.at < count {
            frames.fill(&mut self.socket)?;
        }
        frames.at += count;
        Ok(&frames.input[frames.at - count..frames.at])
    }
}

impl Frames {
    fn fill(&mut self, socket: &mut Socket) -> Result<()> {
        self.input.drain(..self.at);
        self.at = 0;
        let head = socket.take(HEAD_BYTES)?;
        let [bytes, plain_bytes] = [&head[..3], &head[4..]].map(parse_count);
        let frame = socket.take(bytes)?;
        match decode(frame, plain_bytes, &mut self.input) {
            Some(()) => Ok(()),
            None => {
                let message = format!("{} sends a compressed frame that is damaged", socket.peer());
                Err(Error::new(ErrorCode::IncorrectData, message))
            }
        }
    }
}

fn parse_count(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |count, &byte| count << 8 | usize::from(byte))
}

/// Makes a frame of at most [`FRAME_BYTES_MAX`] bytes.
fn encode(bytes: &[u8], sequence: u8) -> std::io::Result<Vec<u8>> {
    let mut frame = vec![0; HEAD_BYTES];
    let mut plain_bytes = 0;
    if bytes.len() >= COMPRESSED_BYTES_MIN {
        let mut encoder = ZlibEncoder::new(frame, Compression::fast());
        encoder.write_all(bytes)?;
        frame = encoder.finish()?;
        plain_bytes = bytes.len();
    }
    if plain_bytes == 0 || frame.len() - HEAD_BYTES >= plain_bytes {
        plain_bytes = 0;
        frame.truncate(HEAD_BYTES);
        frame.extend_from_slice(bytes);
    }
    let frame_bytes = frame.len() - HEAD_BYTES;
    frame[..3].copy_from_slice(&frame_bytes.to_le_bytes()[..3]);
    frame[3] = sequence;
    frame[4..HEAD_BYTES].copy_from_slice(&plain_bytes.to_le_bytes()[..3]);
    Ok(frame)
}

/// Appends the payload of a frame to `plain`; `None` if it is damaged or has another length than `plain_bytes`.
fn decode(frame: &[u8], plain_bytes: usize, plain: &mut Vec<u8>) -> Option<()> {
    if plain_bytes == 0 {
        plain.extend_from_slice(frame);
        return Some(());
    }
    let start = plain.len();
    ZlibDecoder::new(frame).take(plain_bytes as u64 + 1).read_to_end(plain).ok()?;
    (plain.len() - start == plain_bytes).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(frame: &[u8]) -> Option<Vec<u8>> {
        let (head, body) = frame.split_at_checked(HEAD_BYTES)?;
        let [bytes, plain_bytes] = [&head[..3], &head[4..]].map(parse_count);
        let mut plain = Vec::new();
        decode(body.get(..bytes)?, plain_bytes, &mut plain)?;
        Some(plain)
    }

    #[test]
    fn frames_hold_what_was_put_into_them() {
        let noise: Vec<u8> = (0..200_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for (bytes, is_compressed) in
            [(b"SELECT 1".repeat(20), true), (b"SELECT 1".to_vec(), false), (noise, false)]
        {
            let frame = encode(&bytes, 3).expect("memory");
            assert_eq!((frame[3], frame[4] > 0), (3, is_compressed));
            assert_eq!(decoded(&frame), Some(bytes));
        }
    }

    #[test]
    fn every_bit_flip_and_truncation_is_survived() {
        let frame = encode(&b"SELECT 1".repeat(20), 0).expect("memory");
        for bit in 0..frame.len() * 8 {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = decoded(&flipped);
        }
        for end in 0..frame.len() {
            assert_eq!(decoded(&frame[..end]), None, "{end}");
        }
        let decode = |bytes: &[u8], plain_bytes: usize| decode(bytes, plain_bytes, &mut Vec::new());
        for end in HEAD_BYTES..frame.len() {
            assert_eq!(decode(&frame[HEAD_BYTES..end], 160), None, "{end}");
        }
        // More and fewer bytes than announced.
        assert_eq!(
            [159, 160, 161].map(|plain_bytes| decode(&frame[HEAD_BYTES..], plain_bytes)),
            [None, Some(()), None]
        );
    }
}
