//! A chain of codecs: transforms first, at most one compressor last.
//!
//! # Layout of an encoded chain
//!
//! ```text
//! lengths u32 (little-endian): the output length of each link but the last, in chain order
//! payload: the output of the last link
//! ```
//!
//! # Layout of a chain's description
//!
//! [`CHAIN_BYTES`] bytes: a number and a parameter for each link, then zeroes.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::fmt;

use crate::{Codec, CodecError, CodecSpec, INPUT_BYTES_MAX};

/// Bytes of a chain's description in a file.
pub const CHAIN_BYTES: usize = 16;

/// The most links that a chain may have.
pub(crate) const LINKS_MAX: usize = CHAIN_BYTES / 2;

/// Which of a transform's two forms to use: the one that is shorter uncompressed, or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    First,
    Alternative,
}

/// Bytes of each length in front of the payload.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Codecs applied one after the other; never empty. The default is `LZ4`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodecChain {
    links: Vec<CodecSpec>,
}

/// Buffers for the intermediate results of a chain; reuse one for many calls.
#[derive(Debug, Default)]
pub struct Scratch {
    front: Vec<u8>,
    back: Vec<u8>,
}

impl Default for CodecChain {
    fn default() -> CodecChain {
        CodecChain::from(CodecSpec::Lz4)
    }
}

impl From<CodecSpec> for CodecChain {
    fn from(link: CodecSpec) -> CodecChain {
        CodecChain { links: vec![link] }
    }
}

impl CodecChain {
    /// A chain of `links`. [`CodecChain::check`] says whether they make sense together.
    ///
    /// # Panics
    ///
    /// If there are no links, or more than a description can hold.
    pub fn new(links: Vec<CodecSpec>) -> CodecChain {
        assert!((1..=LINKS_MAX).contains(&links.len()), "a chain has 1 to {LINKS_MAX} links");
        CodecChain { links }
    }

    /// `CODEC(AUTO)`: the chain is chosen for the values by [`CodecChain::choose`].
    pub fn auto() -> CodecChain {
        CodecChain::from(CodecSpec::Auto)
    }

    pub fn is_auto(&self) -> bool {
        self.links == [CodecSpec::Auto]
    }

    /// The chain with `Default` replaced by `default`. After other links, only its compressor is used.
    #[must_use]
    pub fn with_default(&self, default: &CodecChain) -> CodecChain {
        if self.links == [CodecSpec::Default] {
            return default.clone();
        }
        let compressor = default.compressor().links[0];
        let links = self.links.iter().map(|&link| if link == CodecSpec::Default { compressor } else { link });
        CodecChain { links: links.collect() }
    }

    /// The transforms of this chain, followed by the compressor of `other`.
    #[must_use]
    pub fn with_compressor(&self, other: &CodecChain) -> CodecChain {
        let is_transform = |link: &&CodecSpec| !link.is_compressor() && **link != CodecSpec::None;
        let mut links: Vec<_> = self.links.iter().filter(is_transform).copied().collect();
        let compressor = other.compressor().links[0];
        if compressor != CodecSpec::None || links.is_empty() {
            links.push(compressor);
        }
        CodecChain { links }
    }

    /// The links of this chain, with the text codec of `other` in front of the compressor.
    #[must_use]
    pub fn with_text(&self, other: &CodecChain) -> CodecChain {
        let mut links = self.links.clone();
        if other.links.contains(&CodecSpec::Fsst) {
            let at = links.iter().position(|link| link.is_compressor()).unwrap_or(links.len());
            links.insert(at, CodecSpec::Fsst);
        }
        CodecChain { links }
    }

    pub fn links(&self) -> &[CodecSpec] {
        &self.links
    }

    /// The chain for values of `width` bytes: fills in widths, and drops links that cannot transform such values.
    #[must_use]
    pub fn for_width(&self, width: usize) -> CodecChain {
        let links: Vec<_> = self.links.iter().filter_map(|link| link.for_width(width)).collect();
        if links.is_empty() { CodecChain::default() } else { CodecChain { links } }
    }

    /// The chain for bytes that are not values, such as null masks and lengths: the compressor alone.
    #[must_use]
    pub fn compressor(&self) -> CodecChain {
        match self.links.last() {
            Some(&last) if last.is_compressor() || last == CodecSpec::None => CodecChain::from(last),
            _ => CodecChain::default(),
        }
    }

    /// The chain for text: the text codec and the compressor.
    #[must_use]
    pub fn for_text(&self) -> CodecChain {
        if !self.links.contains(&CodecSpec::Fsst) {
            return self.compressor();
        }
        let is_for_text = |link: &&CodecSpec| **link == CodecSpec::Fsst || link.is_compressor();
        CodecChain { links: self.links.iter().filter(is_for_text).copied().collect() }
    }

    /// Appends the encoded form of `input`; the shortest, if a codec has two forms.
    pub fn encode(&self, input: &[u8], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<(), CodecError> {
        if input.len() > INPUT_BYTES_MAX {
            return Err(CodecError::InputTooLong { codec: "a chain", bytes: input.len() });
        }
        if input.is_empty() {
            return Ok(());
        }
        let start = out.len();
        self.encode_as(Form::First, input, out, scratch)?;
        let first_bytes = out.len() - start;
        if self.encode_as(Form::Alternative, input, out, scratch)? {
            if out.len() - start < 2 * first_bytes {
                out.drain(start..start + first_bytes);
            } else {
                out.truncate(start + first_bytes);
            }
        }
        Ok(())
    }

    /// Appends the output with this form of the transforms; returns `false` and appends nothing if no transform has
    /// it.
    fn encode_as(
        &self,
        form: Form,
        input: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<bool, CodecError> {
        let [transforms @ .., last] = self.links.as_slice() else { unreachable!("a chain has a link") };
        let start = out.len();
        let Scratch { front, back } = scratch;
        let mut has_form = form == Form::First;
        for (position, link) in transforms.iter().enumerate() {
            back.clear();
            let input = if position == 0 { input } else { &*front };
            if form == Form::Alternative && link.encode_alternative(input, back)? {
                has_form = true;
            } else {
                link.encode(input, back)?;
            }
            let length = u32::try_from(back.len())
                .map_err(|_| CodecError::InputTooLong { codec: "a chain", bytes: input.len() })?;
            out.extend_from_slice(&length.to_le_bytes());
            std::mem::swap(front, back);
        }
        if !has_form {
            out.truncate(start);
            return Ok(false);
        }
        let input = if transforms.is_empty() { input } else { &*front };
        // A compressor may have a special form for the output of transforms.
        if transforms.is_empty() || !last.is_compressor() || !last.encode_alternative(input, out)? {
            last.encode(input, out)?;
        }
        Ok(true)
    }

    /// Output lengths of each link but the last, in an encoding of non-empty input.
    pub(crate) fn link_bytes<'a>(&self, encoded: &'a [u8]) -> impl Iterator<Item = usize> + use<'a> {
        let (stored, _) = encoded.as_chunks::<LENGTH_BYTES>();
        stored.iter().take(self.links.len() - 1).map(|stored| u32::from_le_bytes(*stored) as usize)
    }

    /// Fills `out`, whose length is that of the original input.
    pub fn decode(&self, input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<(), CodecError> {
        let [first, later @ ..] = self.links.as_slice() else { unreachable!("a chain has a link") };
        if later.is_empty() {
            return first.decode(input, out);
        }
        if input.is_empty() && out.is_empty() {
            return Ok(());
        }
        let lengths = self.lengths(input, out.len())?;
        let payload = &input[later.len() * LENGTH_BYTES..];
        let Scratch { front, back } = scratch;
        for (position, link) in later.iter().enumerate().rev() {
            back.clear();
            back.resize(lengths[position], 0);
            link.decode(if position + 1 == later.len() { payload } else { front }, back)?;
            std::mem::swap(front, back);
        }
        first.decode(front, out)
    }

    /// Reads the lengths in front of the payload. Each is checked against the maximum output of its link, because
    /// they decide how much is allocated.
    fn lengths(&self, input: &[u8], decoded_bytes: usize) -> Result<[usize; LINKS_MAX], CodecError> {
        let mut lengths = [0; LINKS_MAX];
        let mut before = decoded_bytes;
        let (stored, _) = input.as_chunks::<LENGTH_BYTES>();
        for (position, link) in self.links[..self.links.len() - 1].iter().enumerate() {
            let stored = stored.get(position).ok_or(CodecError::Truncated { codec: "a chain" })?;
            let length = u32::from_le_bytes(*stored) as usize;
            if length > link.encoded_bytes_max(before) {
                let reason = format!("{link} cannot make {length} bytes of {before}");
                return Err(CodecError::Malformed { codec: "a chain", reason });
            }
            lengths[position] = length;
            before = length;
        }
        Ok(lengths)
    }

    /// The chain's description in a file.
    pub fn to_bytes(&self) -> [u8; CHAIN_BYTES] {
        let mut bytes = [0; CHAIN_BYTES];
        for (slot, link) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(&self.links) {
            *slot = link.to_bytes();
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; CHAIN_BYTES]) -> Result<CodecChain, CodecError> {
        let slots = bytes.as_chunks::<2>().0;
        let count = slots.iter().position(|slot| *slot == [0, 0]).unwrap_or(slots.len());
        if count == 0 || slots[count..].iter().any(|slot| *slot != [0, 0]) {
            return Err(CodecError::Malformed { codec: "a chain", reason: "it has a gap".to_owned() });
        }
        let links = slots[..count].iter().map(|slot| CodecSpec::from_bytes(*slot));
        Ok(CodecChain { links: links.collect::<Result<_, _>>()? })
    }
}

/// The chain as in a CODEC clause: `Delta(4), LZ4`.
impl fmt::Display for CodecChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, link) in self.links.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{link}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::Planes;

    /// Lets the conformance test run on a chain, which is no [`Codec`] because it needs scratch buffers.
    struct AsCodec(CodecChain, RefCell<Scratch>);

    impl Codec for AsCodec {
        fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
            self.0.encode(input, out, &mut self.1.borrow_mut())
        }

        fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
            self.0.decode(input, out, &mut self.1.borrow_mut())
        }

        fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
            let links = self.0.links.iter();
            let lengths = links.len() * LENGTH_BYTES;
            links.fold(input_bytes, |bytes, link| link.encoded_bytes_max(bytes)) + lengths
        }
    }

    fn chains() -> [CodecChain; 7] {
        let t64 = CodecSpec::T64 { width: 4, planes: Planes::Bits };
        [
            CodecChain::new(vec![CodecSpec::Gcd { width: 4 }, CodecSpec::Delta { width: 4 }, t64]),
            CodecChain::new(vec![
                CodecSpec::Alp { scheme: crate::AlpScheme::Shortest, width: 8 },
                CodecSpec::ZstdWindow { level: 1, window_log: 12 },
            ]),
            CodecChain::new(vec![CodecSpec::Lz4, CodecSpec::Fpc { level: 5, width: 8 }]),
            CodecChain::default(),
            CodecChain::new(vec![CodecSpec::Delta { width: 8 }, CodecSpec::Zstd { level: 1 }]),
            CodecChain::new(vec![CodecSpec::DoubleDelta { width: 4 }, CodecSpec::Lz4hc { level: 9 }]),
            CodecChain::new(vec![
                CodecSpec::Delta { width: 2 },
                CodecSpec::DoubleDelta { width: 2 },
                CodecSpec::Lz4,
            ]),
        ]
    }

    #[test]
    fn conforms() {
        for chain in chains() {
            crate::conformance::check(&AsCodec(chain, RefCell::default()));
        }
    }

    #[test]
    fn chain_round_trips_through_bytes() {
        for chain in chains() {
            assert_eq!(CodecChain::from_bytes(&chain.to_bytes()), Ok(chain));
        }
        assert!(CodecChain::from_bytes(&[0; CHAIN_BYTES]).is_err());
        assert!(CodecChain::from_bytes(&[0xff; CHAIN_BYTES]).is_err());
    }

    #[test]
    fn widths_are_filled_in_where_they_fit() {
        let chain = CodecChain::new(vec![CodecSpec::Delta { width: 0 }, CodecSpec::Lz4]);
        assert_eq!(chain.for_width(4).to_string(), "Delta(4), LZ4");
        assert_eq!(chain.for_width(16).to_string(), "LZ4");
        assert_eq!(chain.compressor().to_string(), "LZ4");
    }

    #[test]
    fn default_gives_way_to_that_of_the_table() {
        let zstd = CodecChain::from(CodecSpec::Zstd { level: 3 });
        let default = CodecChain::from(CodecSpec::Default);
        assert_eq!(default.with_default(&zstd), zstd);
        assert_eq!(default.with_default(&CodecChain::auto()), CodecChain::auto());
        let behind = CodecChain::new(vec![CodecSpec::Delta { width: 4 }, CodecSpec::Default]);
        assert_eq!(behind.with_default(&zstd).to_string(), "Delta(4), ZSTD(3)");
        assert_eq!(behind.with_default(&CodecChain::auto()).to_string(), "Delta(4), LZ4");
    }
}
