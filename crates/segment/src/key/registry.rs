//! The list of key indexes: chooses one for the keys at hand, builds it and opens it.

use std::sync::Arc;

use basalt_base::{Error, Result};

use super::fixed::{ARRAY, ASCENDING, ArrayBuilder, ArrayIndex, DENSE, IntegersBuilder, IntegersIndex};
use super::front::{self, FrontBuilder, FrontIndex};
use super::index::KeyIndex;
use super::limits::KEY_BYTES_MAX;
use super::sample::{Choice, KeySample};
use crate::ROWS_MAX;
use crate::file::{PendingComponent, SegmentFile, SpoolPlace};

/// Builds the index that was chosen for a sample. It takes the keys that the sample has seen, in the same order.
pub struct KeyIndexBuilder {
    encoding: EncodingBuilder,
    reason: String,
    expected: u64,
    pushed: u64,
}

enum EncodingBuilder {
    Front(Box<FrontBuilder>),
    Integers(Box<IntegersBuilder>),
    Array(Box<ArrayBuilder>),
}

impl KeyIndexBuilder {
    /// Chooses the encoding that takes the fewest bytes for all keys of `sample`.
    pub fn new(name: &str, sample: KeySample, place: &SpoolPlace) -> Result<KeyIndexBuilder> {
        let expected = sample.count();
        if expected > ROWS_MAX {
            return Err(Error::logical(format!("a segment of {expected} keys")));
        }
        let (choice, reason) = sample.choose();
        let encoding = match choice {
            Choice::Dense { bytes } => {
                EncodingBuilder::Integers(Box::new(IntegersBuilder::dense(name, bytes)))
            }
            Choice::Ascending { bytes } => {
                EncodingBuilder::Integers(Box::new(IntegersBuilder::ascending(name, bytes, place)))
            }
            Choice::Array { bytes, prefix } => {
                EncodingBuilder::Array(Box::new(ArrayBuilder::new(name, bytes, &prefix, place)?))
            }
            Choice::Front(tokens) => EncodingBuilder::Front(Box::new(FrontBuilder::new(name, tokens, place))),
        };
        Ok(KeyIndexBuilder { encoding, reason, expected, pushed: 0 })
    }

    pub fn push(&mut self, key: &[u8]) -> Result<()> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::logical(format!("a key of {} bytes", key.len())));
        }
        self.pushed += 1;
        match &mut self.encoding {
            EncodingBuilder::Front(builder) => builder.push(key),
            EncodingBuilder::Integers(builder) => builder.push(key),
            EncodingBuilder::Array(builder) => builder.push(key),
        }
    }

    /// The components of the index: its own first, then nested ones.
    pub fn finish(self) -> Result<Vec<PendingComponent>> {
        if self.pushed != self.expected {
            return Err(Error::logical(format!("{} keys after a pass over {}", self.pushed, self.expected)));
        }
        let mut component = match self.encoding {
            EncodingBuilder::Front(builder) => builder.finish()?,
            EncodingBuilder::Integers(builder) => builder.finish()?,
            EncodingBuilder::Array(builder) => builder.finish(),
        };
        component.reason = self.reason;
        Ok(vec![component])
    }
}

/// Opens the key index `name` of a file.
pub fn open_key_index(file: &SegmentFile, name: &str) -> Result<Arc<dyn KeyIndex>> {
    let component = file.component(name)?;
    Ok(match component.encoding() {
        front::ENCODING => Arc::new(FrontIndex::open(component)?),
        DENSE | ASCENDING => Arc::new(IntegersIndex::open(component)?),
        ARRAY => Arc::new(ArrayIndex::open(component)?),
        other => return Err(component.place().corrupt(format!("no key index has the encoding `{other}`"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Access;
    use crate::file::testing::{Parts, TestDir};
    use crate::key::conformance::check_index;

    /// The index of the keys works; returns its encoding.
    fn check(mut keys: Vec<Vec<u8>>) -> String {
        keys.sort();
        keys.dedup();
        let dir = TestDir::new();
        let mut sample = KeySample::default();
        keys.iter().for_each(|key| sample.add(key).expect("a sorted key"));
        let mut builder = KeyIndexBuilder::new("key", sample, dir.place()).expect("room");
        keys.iter().for_each(|key| builder.push(key).expect("the same key"));
        let components = builder.finish().expect("room");
        assert!(!components[0].reason.is_empty());
        let parts: Vec<Parts> = components.into_iter().map(Parts::of).collect();
        for access in [Access::Mapped, Access::Read] {
            let index = open_key_index(&dir.file(&parts, access), "key").expect("an index");
            check_index(index.as_ref(), &keys, &[]);
        }
        parts[0].encoding.clone()
    }

    fn random(at: u64) -> u64 {
        (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at.wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31)
    }

    #[test]
    fn keys_get_the_encoding_that_takes_the_fewest_bytes() {
        assert_eq!(check((5..5000_u64).map(|at| at.to_be_bytes().to_vec()).collect()), DENSE);
        assert_eq!(check((0..5000).map(|at| random(at).to_be_bytes().to_vec()).collect()), ASCENDING);
        let uuid = |at| [random(at).to_be_bytes(), random(at + 77).to_be_bytes()].concat();
        assert_eq!(check((0..5000).map(uuid).collect()), ARRAY);
        let pair = |at: u64| [(at / 100).to_be_bytes(), (at % 100).to_be_bytes()].concat();
        assert_eq!(check((0..5000).map(pair).collect()), front::ENCODING);
        assert_eq!(check((0..5000).map(|at| format!("item-{at}").into_bytes()).collect()), front::ENCODING);
    }

    #[test]
    fn few_keys_have_an_index() {
        for keys in
            [vec![], vec![vec![]], vec![vec![0; 9]], vec![vec![1], vec![1, 0]], vec![vec![7; KEY_BYTES_MAX]]]
        {
            check(keys);
        }
    }

    #[test]
    fn keys_out_of_order_and_other_keys_are_refused() {
        let dir = TestDir::new();
        let mut sample = KeySample::default();
        sample.add(b"b").expect("the first key");
        assert!(sample.add(b"b").is_err());
        assert!(sample.add(b"a").is_err());
        assert!(sample.add(&vec![b'c'; KEY_BYTES_MAX + 1]).is_err());
        let builder = KeyIndexBuilder::new("key", sample, dir.place()).expect("room");
        assert!(builder.finish().is_err(), "a key is missing");
    }
}
