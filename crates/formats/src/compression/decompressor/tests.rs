//! Tests of decompression: what was compressed comes back, and damage is an error.

use std::io::Cursor;

use super::super::Compressor;
use super::*;

fn compressed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut compressor = Compressor::new(compression, Compression::DEFAULT_LEVEL).unwrap();
    let mut out = Vec::new();
    compressor.compress(bytes, &mut out).unwrap();
    compressor.finish(&mut out).unwrap();
    out
}

fn plain(compression: Compression, bytes: &[u8]) -> basalt_base::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut reader = Decompressor::new(compression, Box::new(Cursor::new(bytes.to_vec())));
    reader.read_to_end(&mut out).map_err(Error::of_reading)?;
    Ok(out)
}

fn text() -> Vec<u8> {
    (0..20_000).flat_map(|row| format!("{row}\tline {}\n", row * 7 % 1_000).into_bytes()).collect()
}

#[test]
fn streams_come_back_as_they_were() {
    for compression in Compression::ALL {
        for bytes in [&b""[..], b"x", &text()] {
            let back = plain(compression, &compressed(compression, bytes)).unwrap();
            assert!(back == bytes, "{} of {} bytes", compression.name(), bytes.len());
        }
    }
}

#[test]
fn streams_may_follow_each_other() {
    for compression in Compression::ALL {
        let bytes = [
            compressed(compression, b"one\n"),
            compressed(compression, b""),
            compressed(compression, &text()),
        ];
        let back = plain(compression, &bytes.concat());
        if compression == Compression::Brotli {
            assert!(back.unwrap_err().message().contains("bytes after the end"));
        } else {
            assert!(back.unwrap() == [b"one\n", &text()[..]].concat(), "{}", compression.name());
        }
    }
}

#[test]
fn no_bytes_are_an_empty_stream() {
    for compression in Compression::ALL {
        assert_eq!(plain(compression, b"").unwrap(), b"");
    }
}

#[test]
fn streams_that_end_early_are_errors() {
    for compression in Compression::ALL {
        let bytes = compressed(compression, &text()[..3_000]);
        for end in 1..bytes.len() {
            let error = plain(compression, &bytes[..end]).map(|found| found.len());
            let error = error.expect_err(&format!("{} of {end} bytes", compression.name()));
            assert_eq!(error.code(), ErrorCode::IncorrectData);
            assert!(
                error.message().starts_with(&format!("the {} data are damaged", compression.name())),
                "{error}"
            );
        }
    }
}

#[test]
fn flipped_bits_are_errors_or_change_nothing() {
    let text = &text()[..1_000];
    for compression in Compression::ALL {
        let bytes = compressed(compression, text);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let found = plain(compression, &damaged);
            // br has no checksum.
            let same = found.as_ref().map_or(true, |found| found == text);
            assert!(same || compression == Compression::Brotli, "{} bit {bit}", compression.name());
        }
    }
}

#[test]
fn garbage_after_the_end_is_an_error() {
    for compression in Compression::ALL {
        let bytes = [&compressed(compression, b"one\n"), &b"garbage after the end"[..]].concat();
        assert!(plain(compression, &bytes).is_err(), "{}", compression.name());
    }
}

#[test]
fn errors_of_the_input_stay_what_they_are() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _out: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other(Error::new(ErrorCode::SocketTimeout, "slow")))
        }
    }
    for compression in Compression::ALL {
        let head = compressed(compression, &text());
        let head = head[..head.len() / 2].to_vec();
        let mut reader = Decompressor::new(compression, Box::new(Cursor::new(head).chain(Failing)));
        let error = Error::of_reading(reader.read_to_end(&mut Vec::new()).unwrap_err());
        assert_eq!(error.code(), ErrorCode::SocketTimeout, "{}", compression.name());
    }
}

#[test]
fn bombs_take_no_memory_before_they_are_read() {
    for compression in Compression::ALL {
        let mut compressor = Compressor::new(compression, 1).unwrap();
        let mut bytes = Vec::new();
        for _ in 0..64 {
            compressor.compress(&[0; 1 << 20], &mut bytes).unwrap();
        }
        compressor.finish(&mut bytes).unwrap();
        assert!(bytes.len() < 1 << 20, "{}", compression.name());
        let mut reader = Decompressor::new(compression, Box::new(Cursor::new(bytes)));
        let mut piece = [1; 1 << 16];
        reader.read_exact(&mut piece).unwrap();
        assert_eq!(piece, [0; 1 << 16], "{}", compression.name());
    }
}
