//! Sets of byte strings with which every match begins, ends, or that are all matches.

use std::collections::BTreeSet;

use crate::trigram::TrigramQuery;

/// The strings of a set that is kept. A larger one is shortened.
const STRINGS_MAX: usize = 20;
/// A trigram's bytes.
const TRIGRAM_BYTES: usize = 3;

/// A set of byte strings.
#[derive(Clone, Debug, Default)]
pub(super) struct LiteralSet(BTreeSet<Vec<u8>>);

impl LiteralSet {
    pub(super) fn of(text: &[u8]) -> LiteralSet {
        LiteralSet([text.to_owned()].into())
    }

    pub(super) fn insert(&mut self, text: Vec<u8>) {
        self.0.insert(text);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_small(&self) -> bool {
        self.0.len() <= STRINGS_MAX
    }

    /// The bytes of all strings.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// The bytes of the shortest string; 0 for no strings.
    pub(super) fn shortest_bytes(&self) -> usize {
        self.0.iter().map(Vec::len).min().unwrap_or(0)
    }

    pub(super) fn union(mut self, other: &LiteralSet) -> LiteralSet {
        self.0.extend(other.0.iter().cloned());
        self
    }

    /// Each string followed by each of `other`.
    pub(super) fn cross(&self, other: &LiteralSet) -> LiteralSet {
        let pairs = self.0.iter().flat_map(|front| other.0.iter().map(move |back| (front, back)));
        LiteralSet(pairs.map(|(front, back)| [front.as_slice(), back].concat()).collect())
    }

    /// The condition that one of the strings occurs.
    pub(super) fn query(&self) -> TrigramQuery {
        if self.shortest_bytes() < TRIGRAM_BYTES {
            return TrigramQuery::Everything;
        }
        let texts = self.0.iter().map(|text| TrigramQuery::of_text(text));
        texts.fold(TrigramQuery::Nothing, TrigramQuery::or)
    }

    /// The first `bytes` of each string.
    pub(super) fn fronts(&self, bytes: usize) -> LiteralSet {
        LiteralSet(self.0.iter().map(|text| text[..text.len().min(bytes)].to_owned()).collect())
    }

    /// The last `bytes` of each string.
    pub(super) fn backs(&self, bytes: usize) -> LiteralSet {
        LiteralSet(self.0.iter().map(|text| text[text.len().saturating_sub(bytes)..].to_owned()).collect())
    }

    /// As many bytes of each string as leave a small set and may become part of another trigram; `cut` is
    /// [`LiteralSet::fronts`] or [`LiteralSet::backs`].
    pub(super) fn shortened(&self, cut: fn(&LiteralSet, usize) -> LiteralSet) -> LiteralSet {
        let lengths = (0..TRIGRAM_BYTES).rev();
        lengths.map(|bytes| cut(self, bytes)).find(LiteralSet::is_small).unwrap_or_default()
    }
}
