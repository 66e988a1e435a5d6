//! The fixed parts of a segment file: header and footer.

use basalt_base::checksum::crc32c;

use crate::Corrupt;

pub(super) const MAGIC: [u8; 4] = *b"BSEG";
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER_BYTES: usize = 64;
pub(super) const FOOTER_BYTES: usize = 32;
pub(super) const SECTION_ALIGNMENT: u64 = 64;

const SUM_BYTES: usize = size_of::<u32>();

/// What a reader must know (`required`) or may ignore (`optional`), a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    pub required: u64,
    pub optional: u64,
}

impl Features {
    /// The required features that this build knows.
    pub const KNOWN: u64 = 0;
}

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) features: Features,
    pub(super) segment: u64,
}

/// The last bytes of a file: where the directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) sum: u32,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[4..8].copy_from_slice(&VERSION.to_le_bytes());
        out[8..16].copy_from_slice(&self.features.required.to_le_bytes());
        out[16..24].copy_from_slice(&self.features.optional.to_le_bytes());
        out[24..32].copy_from_slice(&self.segment.to_le_bytes());
        let sum = crc32c(&out[..HEADER_BYTES - SUM_BYTES]);
        out[HEADER_BYTES - SUM_BYTES..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Header, Corrupt> {
        if bytes[..4] != MAGIC {
            return Err(Corrupt::Magic { what: "beginning" });
        }
        let (front, sum) = bytes.split_at(HEADER_BYTES - SUM_BYTES);
        if word(sum, 0) != crc32c(front) {
            return Err(Corrupt::Checksum { what: "header" });
        }
        let version = word(front, 4);
        if version != VERSION {
            return Err(Corrupt::Version { found: version, newest: VERSION });
        }
        let features = Features { required: long(front, 8), optional: long(front, 16) };
        match features.required & !Features::KNOWN {
            0 => Ok(Header { features, segment: long(front, 24) }),
            bits => Err(Corrupt::Features { bits }),
        }
    }
}

impl Footer {
    pub(super) fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut out = [0; FOOTER_BYTES];
        out[..8].copy_from_slice(&self.offset.to_le_bytes());
        out[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        out[16..20].copy_from_slice(&self.sum.to_le_bytes());
        let sum = crc32c(&out[..24]);
        out[24..28].copy_from_slice(&sum.to_le_bytes());
        out[28..].copy_from_slice(&MAGIC);
        out
    }

    pub(super) fn decode(bytes: &[u8; FOOTER_BYTES]) -> Result<Footer, Corrupt> {
        if bytes[28..] != MAGIC {
            return Err(Corrupt::Magic { what: "end" });
        }
        if word(bytes, 24) != crc32c(&bytes[..24]) {
            return Err(Corrupt::Checksum { what: "footer" });
        }
        Ok(Footer { offset: long(bytes, 0), bytes: long(bytes, 8), sum: word(bytes, 16) })
    }
}

/// The four bytes at `at`, which exist.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The eight bytes at `at`, which exist.
fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
