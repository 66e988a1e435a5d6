//! Conditions on the trigrams of a string: AND and OR of trigrams.

/// Three bytes, the first one highest.
pub type Trigram = u32;

/// The nodes of a query. A condition that would have more is weakened.
const NODES_MAX: usize = 4096;
/// The trigrams of a text that are asked for. More of them rarely tell more.
const TEXT_TRIGRAMS_MAX: usize = 64;

/// What the trigrams of a string must satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrigramQuery {
    /// Every string satisfies it.
    Everything,
    /// No string satisfies it.
    Nothing,
    Has(Trigram),
    All(Vec<TrigramQuery>),
    Any(Vec<TrigramQuery>),
}

impl TrigramQuery {
    /// The condition that trigrams of `text` occur: all of them, or the first ones of a long text.
    pub fn of_text(text: &[u8]) -> TrigramQuery {
        let trigrams = text.windows(3).map(|window| TrigramQuery::Has(trigram(window)));
        trigrams.take(TEXT_TRIGRAMS_MAX).fold(TrigramQuery::Everything, TrigramQuery::and)
    }

    pub fn and(self, other: TrigramQuery) -> TrigramQuery {
        use TrigramQuery::{All, Everything, Nothing};
        match (self, other) {
            (Nothing, _) | (_, Nothing) => Nothing,
            (Everything, query) | (query, Everything) => query,
            (one, other) if one == other => one,
            (one, other) if one.nodes() + other.nodes() > NODES_MAX => one,
            (All(mut all), All(more)) => {
                more.into_iter().for_each(|query| add(&mut all, query));
                All(all)
            }
            (All(mut all), query) | (query, All(mut all)) => {
                add(&mut all, query);
                All(all)
            }
            (one, other) => All(vec![one, other]),
        }
    }

    pub fn or(self, other: TrigramQuery) -> TrigramQuery {
        use TrigramQuery::{Any, Everything, Nothing};
        match (self, other) {
            (Everything, _) | (_, Everything) => Everything,
            (Nothing, query) | (query, Nothing) => query,
            (one, other) if one == other => one,
            (one, other) if one.nodes() + other.nodes() > NODES_MAX => Everything,
            (Any(mut any), Any(more)) => {
                more.into_iter().for_each(|query| add(&mut any, query));
                Any(any)
            }
            (Any(mut any), query) | (query, Any(mut any)) => {
                add(&mut any, query);
                Any(any)
            }
            (one, other) => Any(vec![one, other]),
        }
    }

    fn nodes(&self) -> usize {
        match self {
            TrigramQuery::All(parts) | TrigramQuery::Any(parts) => {
                1 + parts.iter().map(TrigramQuery::nodes).sum::<usize>()
            }
            _ => 1,
        }
    }
}

fn add(parts: &mut Vec<TrigramQuery>, query: TrigramQuery) {
    if !parts.contains(&query) {
        parts.push(query);
    }
}

/// The trigram of three bytes.
pub(crate) fn trigram(window: &[u8]) -> Trigram {
    window.iter().fold(0, |number, &byte| number << u8::BITS | Trigram::from(byte))
}
