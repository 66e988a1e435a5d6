//! Strings as Zstandard frames that share a trained dictionary: smaller than codes of tokens for short records of rigid
//! structure, and several times slower to read.
//!
//! # Layout
//!
//! ```text
//! number      the bytes of the longest string
//! section     the dictionary
//! records     see `records`; a record is nothing for an empty string, else a byte for its form, then:
//!             0   the string itself
//!             1   a frame without its magic number
//!             2   for each CHUNK_BYTES of the string: bytes of the frame u32, a frame without its magic number
//! ```
//!
//! # Invariants
//!
//! A frame holds at most [`CHUNK_BYTES`], and a string is not longer than the longest: so a damaged record makes no
//! more of them than a good one.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::cell::RefCell;
use std::fmt;

use basalt_base::{Error, ErrorCode, Result};
use zstd::bulk::Compressor;
use zstd::zstd_safe::{self, CParameter, DCtx, DDict};

use super::encoding::{RecordDecoder, RecordEncoder};
use super::input::STRING_BYTES_MAX;
use crate::Place;
use crate::file::{ComponentReader, PendingComponent, SpoolPlace};

pub(super) const ENCODING: &str = "archive";

/// The size of a dictionary that is trained: larger ones gain little and are slower.
pub(super) const DICTIONARY_BYTES: usize = 110 << 10;
/// The shortest string that a dictionary is trained on. Zstandard counts parts of eight bytes. It divides by zero, or
/// reads outside of the sample, if the first three quarters of the strings have fewer bytes together.
const TRAINED_BYTES_MIN: usize = 8;
/// The largest dictionary that a file may have.
const DICTIONARY_BYTES_MAX: usize = 16 << 20;
/// Bytes of a string in one frame.
const CHUNK_BYTES: usize = 1 << 20;
const LEVEL: i32 = 3;
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

const WHOLE: u8 = 0;
const FRAME: u8 = 1;
const CHUNKS: u8 = 2;

// Creating a context costs more than decoding a string, so each thread keeps one.
thread_local! {
    static CONTEXT: RefCell<(DCtx<'static>, Vec<u8>)> = RefCell::new((DCtx::create(), Vec::new()));
}

/// Trains a dictionary; an empty one if the sample is too small for it.
pub(super) fn train(sample: &[&[u8]]) -> Vec<u8> {
    let sample: Vec<&[u8]> =
        sample.iter().copied().filter(|string| string.len() >= TRAINED_BYTES_MIN).collect();
    let sizes: Vec<usize> = sample.iter().map(|string| string.len()).collect();
    zstd::dict::from_continuous(&sample.concat(), &sizes, DICTIONARY_BYTES).unwrap_or_default()
}

/// Encodes strings with a dictionary that was trained before.
pub(super) struct ArchiveEncoder {
    compressor: Compressor<'static>,
    dictionary: Vec<u8>,
    place: SpoolPlace,
    longest: usize,
    frame: Vec<u8>,
}

impl ArchiveEncoder {
    pub(super) fn new(dictionary: Vec<u8>, place: &SpoolPlace) -> Result<ArchiveEncoder> {
        let compressor = Compressor::with_dictionary(LEVEL, &dictionary).and_then(|mut compressor| {
            compressor.set_parameter(CParameter::DictIdFlag(false))?;
            compressor.set_parameter(CParameter::ContentSizeFlag(true))?;
            Ok(compressor)
        });
        let compressor = compressor.map_err(|error| uncompressed(&error))?;
        let frame = vec![0; zstd_safe::compress_bound(CHUNK_BYTES)];
        Ok(ArchiveEncoder { compressor, dictionary, place: place.clone(), longest: 0, frame })
    }

    /// A frame without its magic number.
    fn frame(&mut self, chunk: &[u8]) -> Result<&[u8]> {
        let written = self.compressor.compress_to_buffer(chunk, self.frame.as_mut_slice());
        let written = written.map_err(|error| uncompressed(&error))?;
        let frame = self.frame.get(..written).and_then(|frame| frame.strip_prefix(&MAGIC));
        frame.ok_or_else(|| Error::logical("a Zstandard frame has no magic number"))
    }
}

impl RecordEncoder for ArchiveEncoder {
    fn name(&self) -> &'static str {
        ENCODING
    }

    fn encode(&mut self, string: &[u8], record: &mut Vec<u8>) -> Result<()> {
        self.longest = self.longest.max(string.len());
        let start = record.len();
        if string.len() > CHUNK_BYTES {
            record.push(CHUNKS);
            for chunk in string.chunks(CHUNK_BYTES) {
                let frame = self.frame(chunk)?;
                record.extend_from_slice(&u32::try_from(frame.len()).map_err(Error::logical)?.to_le_bytes());
                record.extend_from_slice(frame);
            }
        } else if !string.is_empty() {
            record.push(FRAME);
            record.extend_from_slice(self.frame(string)?);
        }
        if record.len() - start > string.len() + 1 {
            record.truncate(start);
            record.push(WHOLE);
            record.extend_from_slice(string);
        }
        Ok(())
    }

    fn finish(&mut self, component: &mut PendingComponent) -> Result<()> {
        component.number(self.longest as u64);
        component.section(self.place.spool_of(&self.dictionary)?);
        Ok(())
    }

    #[cfg(test)]
    fn heap_bytes(&self) -> usize {
        self.dictionary.len() + self.frame.capacity()
    }
}

/// Decodes frames.
pub(super) struct ArchiveDecoder {
    dictionary: DDict<'static>,
    dictionary_bytes: u64,
    longest: usize,
    place: Place,
}

impl ArchiveDecoder {
    pub(super) fn open(component: &mut ComponentReader<'_>) -> Result<ArchiveDecoder> {
        let longest = component.number_to(STRING_BYTES_MAX as u64)?;
        let longest = usize::try_from(longest).map_err(Error::logical)?;
        let written = component.resident()?;
        if written.len() > DICTIONARY_BYTES_MAX {
            return Err(component.place().corrupt(format!("a dictionary of {} bytes", written.len())));
        }
        let dictionary = DDict::try_create(&written);
        let dictionary = dictionary.ok_or_else(|| component.place().corrupt("its dictionary is none"))?;
        let place = component.place().clone();
        Ok(ArchiveDecoder { dictionary, dictionary_bytes: written.len() as u64, longest, place })
    }

    /// Appends the chunk of a frame.
    fn append_frame(&self, frame: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let corrupt = || self.place.corrupt("a string cannot be decompressed");
        CONTEXT.with_borrow_mut(|(context, whole)| {
            whole.clear();
            whole.extend_from_slice(&MAGIC);
            whole.extend_from_slice(frame);
            let bytes = zstd_safe::get_frame_content_size(whole).ok().flatten();
            let bytes =
                bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|&bytes| bytes <= CHUNK_BYTES);
            let bytes = bytes.ok_or_else(corrupt)?;
            let start = out.len();
            out.resize(start + bytes, 0);
            match context.decompress_using_ddict(&mut out[start..], whole, &self.dictionary) {
                Ok(found) if found == bytes => Ok(()),
                _ => Err(corrupt()),
            }
        })
    }

    fn append_chunks(&self, mut rest: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        while let Some((bytes, after)) = rest.split_first_chunk() {
            let frame = usize::try_from(u32::from_le_bytes(*bytes)).map_err(Error::logical)?;
            let Some((frame, after)) = after.split_at_checked(frame) else { break };
            self.append_frame(frame, out)?;
            if out.len() - start > self.longest {
                break;
            }
            rest = after;
        }
        match rest.is_empty() {
            true => Ok(()),
            false => Err(self.place.corrupt("a string has more or less chunks than it should have")),
        }
    }
}

impl RecordDecoder for ArchiveDecoder {
    fn append(&self, record: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match record.split_first() {
            None => Ok(()),
            Some((&WHOLE, string)) => {
                out.extend_from_slice(string);
                Ok(())
            }
            Some((&FRAME, frame)) => self.append_frame(frame, out),
            Some((&CHUNKS, chunks)) => self.append_chunks(chunks, out),
            Some((form, _)) => Err(self.place.corrupt(format!("a string has the form {form}"))),
        }
    }

    fn stored_bytes(&self) -> u64 {
        self.dictionary_bytes
    }
}

impl fmt::Debug for ArchiveDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveDecoder").field("dictionary", &self.dictionary_bytes).finish_non_exhaustive()
    }
}

fn uncompressed(error: &std::io::Error) -> Error {
    Error::new(ErrorCode::CannotCompress, format!("a string could not be compressed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_sample_can_be_trained_on() {
        for bytes in 0..20 {
            for strings in 1..20_usize {
                let sample: Vec<Vec<u8>> = (0..strings)
                    .map(|at| if at < strings * 3 / 4 { vec![7; bytes / 4] } else { vec![at as u8; bytes] })
                    .collect();
                let sample: Vec<&[u8]> = sample.iter().map(Vec::as_slice).collect();
                assert!(train(&sample).len() <= DICTIONARY_BYTES);
            }
        }
        let seven = [&b"1"[..]; 7].into_iter().chain([&b"ten bytes."[..]; 3]);
        assert!(train(&seven.collect::<Vec<_>>()).is_empty());
    }
}
