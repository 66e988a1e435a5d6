//! Compresses a stream piece by piece.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use basalt_base::{Result, bail};

use super::Compression;

/// The window of br, as a power of two: the largest that every reader takes is 24.
const BROTLI_WINDOW_BITS: u32 = 22;
const BROTLI_BUFFER_BYTES: usize = 4096;

/// A stream of compressed bytes that grows.
pub struct Compressor {
    compression: Compression,
    encoder: Box<dyn Encoder>,
    sink: Sink,
}

/// A compressor of some library, which writes to a [`Sink`].
trait Encoder: Write + Send {
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The compressed bytes between the library and the caller's buffer. Shared, because one of the libraries does not give
/// access to its writer.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Compressor {
    /// Starts a stream. Fails if the compression does not have this level.
    pub fn new(compression: Compression, level: u32) -> Result<Compressor> {
        if !(1..=compression.max_level()).contains(&level) {
            let (name, max) = (compression.name(), compression.max_level());
            bail!(BadArguments, "level {level} of {name} does not exist; use 1 to {max}");
        }
        let sink = Sink::default();
        match encoder(compression, level, sink.clone()) {
            Ok(encoder) => Ok(Compressor { compression, encoder, sink }),
            Err(error) => bail!(CannotCompress, "{} cannot start: {error}", compression.name()),
        }
    }

    /// Takes plain bytes, and appends to `out` what is compressed so far. The library holds some of the bytes back.
    pub fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let written = self.encoder.write_all(bytes);
        self.append(written, out)
    }

    /// Appends to `out` what the library held back, so that a reader can read all plain bytes. This costs size. Some of
    /// the bytes of xz and bz2 are held back nevertheless.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let flushed = self.encoder.flush();
        self.append(flushed, out)
    }

    /// Appends the end of the stream to `out`.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<()> {
        let Compressor { compression, encoder, sink } = self;
        let finished = encoder.finish();
        sink.append_to(out);
        checked(compression, finished)
    }

    fn append(&mut self, done: io::Result<()>, out: &mut Vec<u8>) -> Result<()> {
        self.sink.append_to(out);
        checked(self.compression, done)
    }
}

fn checked(compression: Compression, done: io::Result<()>) -> Result<()> {
    match done {
        Ok(()) => Ok(()),
        Err(error) => bail!(CannotCompress, "{} failed: {error}", compression.name()),
    }
}

fn encoder(compression: Compression, level: u32, sink: Sink) -> io::Result<Box<dyn Encoder>> {
    let deflate_level = flate2::Compression::new(level);
    Ok(match compression {
        Compression::Gzip => Box::new(flate2::write::GzEncoder::new(sink, deflate_level)),
        Compression::Deflate => Box::new(flate2::write::ZlibEncoder::new(sink, deflate_level)),
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(sink, level.try_into().unwrap_or(i32::MAX))?;
            encoder.include_checksum(true)?;
            Box::new(encoder)
        }
        Compression::Lz4 => Box::new(lz4::EncoderBuilder::new().level(level).build(sink)?),
        Compression::Brotli => {
            Box::new(brotli::CompressorWriter::new(sink, BROTLI_BUFFER_BYTES, level, BROTLI_WINDOW_BITS))
        }
        Compression::Xz => {
            let stream = liblzma::stream::Stream::new_easy_encoder(level, liblzma::stream::Check::Crc64)?;
            Box::new(liblzma::write::XzEncoder::new_stream(sink, stream))
        }
        Compression::Bzip2 => Box::new(bzip2::write::BzEncoder::new(sink, bzip2::Compression::new(level))),
    })
}

impl Sink {
    fn append_to(&self, out: &mut Vec<u8>) {
        out.append(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Encoder for flate2::write::GzEncoder<Sink> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        flate2::write::GzEncoder::finish(*self).map(drop)
    }
}

impl Encoder for flate2::write::ZlibEncoder<Sink> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        flate2::write::ZlibEncoder::finish(*self).map(drop)
    }
}

impl Encoder for zstd::stream::write::Encoder<'static, Sink> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        zstd::stream::write::Encoder::finish(*self).map(drop)
    }
}

impl Encoder for lz4::Encoder<Sink> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        lz4::Encoder::finish(*self).1
    }
}

impl Encoder for brotli::CompressorWriter<Sink> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        // Its writer cannot fail, and it tells of no other error.
        self.into_inner();
        Ok(())
    }
}

impl Encoder for liblzma::write::XzEncoder<Sink> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        liblzma::write::XzEncoder::finish(*self).map(drop)
    }
}

impl Encoder for bzip2::write::BzEncoder<Sink> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        bzip2::write::BzEncoder::finish(*self).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::super::Decompressor;
    use super::*;

    #[test]
    fn pieces_can_be_read_as_soon_as_they_are_flushed() {
        for compression in Compression::ALL {
            let mut compressor = Compressor::new(compression, 1).unwrap();
            let mut out = Vec::new();
            compressor.compress(b"first\n", &mut out).unwrap();
            compressor.flush(&mut out).unwrap();
            let mut first = [0; 6];
            let mut reader = Decompressor::new(compression, Box::new(Cursor::new(out.clone())));
            if !matches!(compression, Compression::Bzip2 | Compression::Xz) {
                reader
                    .read_exact(&mut first)
                    .unwrap_or_else(|error| panic!("{}: {error}", compression.name()));
                assert_eq!(&first, b"first\n");
            }
            compressor.compress(b"second\n", &mut out).unwrap();
            compressor.finish(&mut out).unwrap();
            let mut all = String::new();
            let mut reader = Decompressor::new(compression, Box::new(Cursor::new(out)));
            reader.read_to_string(&mut all).unwrap();
            assert_eq!(all, "first\nsecond\n", "{}", compression.name());
        }
    }

    #[test]
    fn levels_that_do_not_exist_are_refused() {
        for compression in Compression::ALL {
            assert!(Compressor::new(compression, 0).is_err());
            assert!(Compressor::new(compression, compression.max_level()).is_ok());
            assert!(Compressor::new(compression, compression.max_level() + 1).is_err());
        }
    }
}
