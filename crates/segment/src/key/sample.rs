//! The first pass over the keys: what decides the encoding of their index.

use basalt_base::{Error, ErrorCode, Result};
use basalt_codec::Tokens;

use super::fixed::{FIXED_BYTES_MAX, INTEGER_BYTES_MAX};
use super::front::CodesSample;
use super::limits::{KEY_BYTES_MAX, common_prefix};
use crate::bits::ascending::SizeEstimate;

/// Statistics of all keys, and a sample of their bytes. Its memory has a bound.
#[derive(Debug, Default)]
pub struct KeySample {
    count: u64,
    first: Vec<u8>,
    last: Vec<u8>,
    /// Whether all keys have as many bytes as the first one.
    is_fixed: bool,
    /// The bytes that keys of up to eight bytes take as integers.
    ascending: SizeEstimate,
    codes: CodesSample,
}

/// An encoding and what its builder needs to know.
#[derive(Debug)]
pub(super) enum Choice {
    Dense { bytes: usize },
    Ascending { bytes: usize },
    Array { bytes: usize, prefix: Vec<u8> },
    Front(Tokens),
}

impl KeySample {
    /// Takes the next key. An error if it is not greater than the one before, or too long.
    pub fn add(&mut self, key: &[u8]) -> Result<()> {
        if key.len() > KEY_BYTES_MAX {
            let what = format!("a key has {} bytes, a segment takes at most {KEY_BYTES_MAX}", key.len());
            return Err(Error::new(ErrorCode::TooLargeStringSize, what));
        }
        if self.count == 0 {
            self.first = key.to_vec();
            self.is_fixed = key.len() <= FIXED_BYTES_MAX;
        } else if self.last.as_slice() >= key {
            return Err(Error::logical("keys of a segment are not in order"));
        }
        self.is_fixed &= key.len() == self.first.len();
        if self.is_fixed && key.len() <= INTEGER_BYTES_MAX {
            self.ascending.push(integer(key));
        }
        self.count += 1;
        self.codes.add(key);
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// The number of keys.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The encoding that takes the fewest bytes, and why.
    pub(super) fn choose(self) -> (Choice, String) {
        let bytes = self.first.len();
        if self.is_fixed && self.is_dense() {
            return (Choice::Dense { bytes }, format!("the keys are consecutive integers of {bytes} bytes"));
        }
        let front = self.codes.choose();
        let front_bytes = front.estimate;
        let (choice, estimate) = match self.is_fixed {
            true if bytes <= INTEGER_BYTES_MAX => (Choice::Ascending { bytes }, self.ascending.bytes()),
            true => {
                let common = common_prefix(&self.first, &self.last).min(bytes - 1);
                let prefix = self.first[..common].to_vec();
                (Choice::Array { bytes, prefix }, self.count * (bytes - common) as u64)
            }
            false => {
                return (Choice::Front(front.tokens), "the keys have different lengths".to_owned());
            }
        };
        let both =
            format!("{estimate} bytes as an array of {bytes}-byte keys, about {front_bytes} front-coded");
        // Front-coding is slower, so it must pay.
        match front_bytes < estimate / 4 * 3 {
            true => (Choice::Front(front.tokens), both),
            false => (choice, both),
        }
    }

    fn is_dense(&self) -> bool {
        self.count > 0
            && self.first.len() <= INTEGER_BYTES_MAX
            && integer(&self.last) - integer(&self.first) == self.count - 1
    }
}

/// A key of up to eight bytes as an integer.
fn integer(key: &[u8]) -> u64 {
    key.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
