//! Reads the plain bytes of a compressed stream.
//!
//! A stream may consist of several compressed ones, one after another, as `cat a.gz b.gz` makes them; br cannot, because
//! its format does not know it. No bytes at all are an empty stream. A stream that is damaged or that ends before its
//! end is an error.
//!
//! Memory is bounded by the window of the format, whatever the stream expands to: 128 MiB for zstd and xz, less for the
//! others. A stream with a larger window is refused.

use std::io::{self, BufRead, BufReader, Read};

use basalt_base::{Error, ErrorCode};
use brotli_decompressor::BrotliDecoderParameter;

use super::Compression;

/// Bytes of compressed input that are read at once.
const INPUT_BYTES: usize = 64 << 10;

/// The memory of an xz decoder: twice what the highest level needs.
const XZ_MEMORY_BYTES: u64 = 128 << 20;

/// The plain bytes of a compressed input.
pub struct Decompressor {
    compression: Compression,
    state: State,
}

enum State {
    /// Nothing is read yet.
    New(Input),
    Open(Decoder),
    /// The input has ended, or an error was returned.
    Closed,
}

type Input = BufReader<Source>;

enum Decoder {
    Gzip(flate2::bufread::MultiGzDecoder<Input>),
    Deflate(flate2::bufread::ZlibDecoder<Input>),
    Zstd(zstd::stream::read::Decoder<'static, Input>),
    Lz4(lz4::Decoder<Input>),
    Brotli(Box<brotli_decompressor::Decompressor<Input>>),
    Xz(liblzma::bufread::XzDecoder<Input>),
    Bzip2(bzip2::bufread::MultiBzDecoder<Input>),
}

impl Decompressor {
    /// Nothing is read before the first `read`.
    pub fn new(compression: Compression, input: Box<dyn Read + Send>) -> Decompressor {
        let input = BufReader::with_capacity(INPUT_BYTES, Source(input));
        Decompressor { compression, state: State::New(input) }
    }

    /// Reads from the first stream that has bytes left.
    fn read_streams(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let next = match std::mem::replace(&mut self.state, State::Closed) {
                State::Closed => return Ok(0),
                State::New(input) => Some(input),
                State::Open(mut decoder) => {
                    let count = decoder.reader().read(out)?;
                    if count > 0 {
                        self.state = State::Open(decoder);
                        return Ok(count);
                    }
                    decoder.into_rest()?
                }
            };
            let Some(mut input) = next else { return Ok(0) };
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.state = State::Open(Decoder::new(self.compression, input)?);
        }
    }
}

impl Read for Decompressor {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        self.read_streams(out).map_err(|error| match error.downcast::<Error>() {
            // The input could not be read: that is no fault of the compressed bytes.
            Ok(error) => io::Error::other(error),
            Err(error) => {
                let what = format!("the {} data are damaged or incomplete: {error}", self.compression.name());
                io::Error::other(Error::new(ErrorCode::IncorrectData, what))
            }
        })
    }
}

impl Decoder {
    fn new(compression: Compression, input: Input) -> io::Result<Decoder> {
        Ok(match compression {
            Compression::Gzip => Decoder::Gzip(flate2::bufread::MultiGzDecoder::new(input)),
            Compression::Deflate => Decoder::Deflate(flate2::bufread::ZlibDecoder::new(input)),
            Compression::Zstd => Decoder::Zstd(zstd::stream::read::Decoder::with_buffer(input)?),
            Compression::Lz4 => Decoder::Lz4(lz4::Decoder::new(input)?),
            Compression::Brotli => {
                let mut decoder = brotli_decompressor::Decompressor::new(input, INPUT_BYTES);
                let large_window = BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW;
                decoder.set_parameter(large_window, 0);
                Decoder::Brotli(Box::new(decoder))
            }
            Compression::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, flags)?;
                Decoder::Xz(liblzma::bufread::XzDecoder::new_stream(input, stream))
            }
            Compression::Bzip2 => Decoder::Bzip2(bzip2::bufread::MultiBzDecoder::new(input)),
        })
    }

    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Decoder::Gzip(decoder) => decoder,
            Decoder::Deflate(decoder) => decoder,
            Decoder::Zstd(decoder) => decoder,
            Decoder::Lz4(decoder) => decoder,
            Decoder::Brotli(decoder) => decoder,
            Decoder::Xz(decoder) => decoder,
            Decoder::Bzip2(decoder) => decoder,
        }
    }

    /// The input after a stream that has no more bytes; `None` if the decoder has read all of the input.
    fn into_rest(self) -> io::Result<Option<Input>> {
        match self {
            Decoder::Gzip(_) | Decoder::Zstd(_) | Decoder::Xz(_) | Decoder::Bzip2(_) => Ok(None),
            Decoder::Deflate(decoder) => Ok(Some(decoder.into_inner())),
            Decoder::Lz4(decoder) => match decoder.finish() {
                (input, Ok(())) => Ok(Some(input)),
                (_, Err(_)) => Err(io::ErrorKind::UnexpectedEof.into()),
            },
            Decoder::Brotli(mut decoder) => {
                // The second read after the end tells of bytes that the decoder has read too many.
                let more = decoder.read(&mut [0]).is_err() || !decoder.get_mut().fill_buf()?.is_empty();
                if more {
                    return Err(io::Error::other("there are bytes after the end"));
                }
                Ok(None)
            }
        }
    }
}

/// The compressed input. Its errors are ours, so that they are told from those of the decoders.
struct Source(Box<dyn Read + Send>);

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(out) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| io::Error::other(Error::of_reading(error))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
