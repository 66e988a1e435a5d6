//! A section: one stream of a column's bytes, raw or encoded, after a header with its sizes.
//!
//! # Layout
//!
//! ```text
//! at  size  what
//!  0     4  stored bytes u32 (little-endian): length after the header
//!  4     4  decoded bytes u32
//!  8     1  scheme: 0 raw, 1 encoded
//!  9     3  zeroes
//! 12     -  stored bytes
//! ```
//!
//! The codec is not stored here: it is the column's chain, adapted to the kind of the section. Checksums belong to
//! the file and are verified before.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_codec::{CodecChain, INPUT_BYTES_MAX, Scratch};

use crate::error::{Damage, Result};

const HEADER_BYTES: usize = 12;
const STORED_AT: usize = 0;
const DECODED_AT: usize = STORED_AT + size_of::<u32>();
const SCHEME_AT: usize = DECODED_AT + size_of::<u32>();
const RESERVED_AT: usize = SCHEME_AT + size_of::<u8>();
const _: () = assert!(RESERVED_AT + 3 == HEADER_BYTES);

const SCHEME_RAW: u8 = 0;
const SCHEME_ENCODED: u8 = 1;

/// The kind of a section's bytes, which decides the codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Values of this width: the whole chain.
    Values(usize),
    /// The characters of strings: the chain's text codec and its compressor.
    Text,
    /// Null masks, lengths, bits: the chain's compressor alone.
    Bytes,
}

impl Kind {
    fn chain(self, chain: &CodecChain) -> CodecChain {
        match self {
            Kind::Values(width) => chain.for_width(width),
            Kind::Text => chain.for_text(),
            Kind::Bytes => chain.compressor(),
        }
    }
}

/// Appends sections to a block.
#[derive(Debug)]
pub(crate) struct SectionWriter<'a> {
    pub(crate) chain: &'a CodecChain,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) scratch: &'a mut Scratch,
    /// The sum of the sections' decoded bytes.
    pub(crate) decoded_bytes: u64,
}

impl SectionWriter<'_> {
    pub(crate) fn write(&mut self, kind: Kind, bytes: &[u8]) -> Result<()> {
        if bytes.len() > INPUT_BYTES_MAX {
            return Err(basalt_base::Error::not_implemented(format_args!(
                "a granule with more than {INPUT_BYTES_MAX} bytes of one column"
            ))
            .into());
        }
        let start = self.out.len();
        self.out.resize(start + HEADER_BYTES, 0);
        let payload = start + HEADER_BYTES;
        kind.chain(self.chain)
            .encode(bytes, self.out, self.scratch)
            .map_err(|error| crate::Error::Storage(error.into()))?;
        let mut scheme = SCHEME_ENCODED;
        if self.out.len() - payload >= bytes.len() {
            self.out.truncate(payload);
            self.out.extend_from_slice(bytes);
            scheme = SCHEME_RAW;
        }
        let stored = section_bytes(self.out.len() - payload);
        let header = &mut self.out[start..payload];
        header[STORED_AT..DECODED_AT].copy_from_slice(&stored.to_le_bytes());
        header[DECODED_AT..SCHEME_AT].copy_from_slice(&section_bytes(bytes.len()).to_le_bytes());
        header[SCHEME_AT] = scheme;
        self.decoded_bytes += bytes.len() as u64;
        Ok(())
    }
}

fn section_bytes(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a section is shorter than 4 GiB")
}

/// Reads the sections of a block one after the other.
#[derive(Debug)]
pub(crate) struct SectionReader<'a> {
    chain: &'a CodecChain,
    bytes: &'a [u8],
    at: usize,
    scratch: &'a mut Scratch,
    /// The sum of the decoded bytes of the sections read so far.
    pub(crate) decoded_bytes: usize,
}

/// A section with its header read and its bytes not decoded yet.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    at: usize,
    kind: Kind,
    encoded: bool,
    stored: &'a [u8],
    pub(crate) decoded_bytes: usize,
}

impl Section<'_> {
    /// The same section with the kind that its length implies.
    pub(crate) fn with_kind(self, kind: Kind) -> Self {
        Section { kind, ..self }
    }
}

impl<'a> SectionReader<'a> {
    pub(crate) fn new(chain: &'a CodecChain, bytes: &'a [u8], scratch: &'a mut Scratch) -> SectionReader<'a> {
        SectionReader { chain, bytes, at: 0, scratch, decoded_bytes: 0 }
    }

    /// The next section, of any length.
    pub(crate) fn next(&mut self, kind: Kind) -> Result<Section<'a>, Damage> {
        let at = self.at;
        let bytes = self.bytes;
        let (header, rest) = bytes[at..]
            .split_at_checked(HEADER_BYTES)
            .ok_or_else(|| Damage::new(at, "a section header is cut off"))?;
        let field = |at: usize| {
            u32::from_le_bytes(header[at..at + 4].try_into().expect("a header field has four bytes")) as usize
        };
        let encoded = match (header[SCHEME_AT], &header[RESERVED_AT..]) {
            (SCHEME_RAW, [0, 0, 0]) => false,
            (SCHEME_ENCODED, [0, 0, 0]) => true,
            _ => return Err(Damage::new(at + SCHEME_AT, "a section of an unknown scheme")),
        };
        let stored = rest
            .get(..field(STORED_AT))
            .ok_or_else(|| Damage::new(at, "a section reaches over the end of its block"))?;
        let decoded_bytes = field(DECODED_AT);
        if decoded_bytes > INPUT_BYTES_MAX || (!encoded && decoded_bytes != stored.len()) {
            return Err(Damage::new(at + DECODED_AT, format!("a section of {decoded_bytes} decoded bytes")));
        }
        self.at = at + HEADER_BYTES + stored.len();
        Ok(Section { at, kind, encoded, stored, decoded_bytes })
    }

    /// The next section, which must have this decoded length.
    pub(crate) fn expect(&mut self, kind: Kind, decoded_bytes: usize) -> Result<Section<'a>, Damage> {
        let section = self.next(kind)?;
        if section.decoded_bytes == decoded_bytes {
            return Ok(section);
        }
        let what = format!("a section of {} decoded bytes, expected {decoded_bytes}", section.decoded_bytes);
        Err(Damage::new(section.at + DECODED_AT, what))
    }

    /// Decodes into `out`, which has the section's decoded length.
    pub(crate) fn decode_into(&mut self, section: &Section<'_>, out: &mut [u8]) -> Result<(), Damage> {
        self.decoded_bytes += out.len();
        if !section.encoded {
            out.copy_from_slice(section.stored);
            return Ok(());
        }
        let chain = section.kind.chain(self.chain);
        chain
            .decode(section.stored, out, self.scratch)
            .map_err(|error| Damage::new(section.at + HEADER_BYTES, error.to_string()))
    }

    pub(crate) fn decode(&mut self, section: &Section<'_>) -> Result<Vec<u8>, Damage> {
        let mut out = vec![0; section.decoded_bytes];
        self.decode_into(section, &mut out)?;
        Ok(out)
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Fails unless every byte of the block was read.
    pub(crate) fn finish(self) -> Result<(), Damage> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(Damage::new(self.at, "bytes after the last section"))
        }
    }
}
