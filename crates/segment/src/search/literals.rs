//! The trigrams that every match of a pattern has.
//!
//! "Regular Expression Matching with a Trigram Index" by Russ Cox (2012): each part of an expression has the strings
//! that it matches, if they are few, or those with which its matches begin and end, and a condition on trigrams.
//! Sets that become large are turned into conditions.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use super::literal_set::LiteralSet;
use super::pattern::{Pattern, Tree};
use crate::trigram::TrigramQuery;

/// The strings of a part whose matches are all known.
const EXACT_MAX: usize = 16;
const EXACT_BYTES_MAX: usize = 1024;
/// The characters of a class whose members count one by one.
const CLASS_MAX: u32 = 16;
/// The repetitions of a part that are written out.
const REPEATED_MAX: u32 = 8;
/// The bytes of strings that become a condition, though they may still grow.
const LONG_BYTES: usize = 4;

/// The trigrams of every string that matches.
pub(super) fn trigrams_of(pattern: &Pattern) -> TrigramQuery {
    let Tree::Expression(hir) = pattern.tree() else { return TrigramQuery::Everything };
    let facts = facts_of(&hir);
    match &facts.exact {
        Some(exact) => facts.query.and(exact.query()),
        None => facts.query,
    }
}

/// What is known of the matches of a part.
#[derive(Clone)]
struct Facts {
    can_be_empty: bool,
    /// All matches. Fronts and backs are not used then.
    exact: Option<LiteralSet>,
    fronts: LiteralSet,
    backs: LiteralSet,
    query: TrigramQuery,
}

fn facts_of(hir: &Hir) -> Facts {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Facts::exactly(LiteralSet::of(b"")),
        HirKind::Literal(literal) => Facts::exactly(LiteralSet::of(&literal.0)),
        HirKind::Class(class) => class_facts(class),
        HirKind::Capture(capture) => facts_of(&capture.sub),
        HirKind::Concat(parts) => {
            parts.iter().map(facts_of).fold(Facts::exactly(LiteralSet::of(b"")), Facts::then)
        }
        HirKind::Alternation(parts) => {
            parts.iter().map(facts_of).reduce(Facts::or).unwrap_or_else(|| Facts::anything(true))
        }
        HirKind::Repetition(repetition) => repetition_facts(repetition),
    }
}

fn class_facts(class: &Class) -> Facts {
    let mut members = LiteralSet::default();
    match class {
        Class::Unicode(class) => {
            let count: u32 = class.ranges().iter().map(|range| range.len() as u32).sum();
            if count > CLASS_MAX {
                return Facts::anything(false);
            }
            let characters = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            characters.for_each(|character| members.insert(character.to_string().into_bytes()));
        }
        Class::Bytes(class) => {
            let count: u32 = class.ranges().iter().map(|range| range.len() as u32).sum();
            if count > CLASS_MAX {
                return Facts::anything(false);
            }
            let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            bytes.for_each(|byte| members.insert(vec![byte]));
        }
    }
    match members.len() {
        // A class without members matches nothing.
        0 => Facts { query: TrigramQuery::Nothing, ..Facts::anything(false) },
        _ => Facts::exactly(members),
    }
}

fn repetition_facts(repetition: &Repetition) -> Facts {
    if repetition.max == Some(0) {
        return Facts::exactly(LiteralSet::of(b""));
    }
    let once = facts_of(&repetition.sub);
    if (repetition.min, repetition.max) == (0, Some(1)) {
        return once.or(Facts::exactly(LiteralSet::of(b"")));
    }
    let written_out = repetition.min.min(REPEATED_MAX);
    let empty = Facts::exactly(LiteralSet::of(b""));
    let written = (0..written_out).fold(empty, |facts, _| facts.then(once.clone()));
    match repetition.max == Some(written_out) {
        true => written,
        false => written.then(Facts::anything(true)).then(if repetition.min > 0 {
            // The last one is known too.
            once
        } else {
            Facts::exactly(LiteralSet::of(b""))
        }),
    }
}

impl Facts {
    fn exactly(exact: LiteralSet) -> Facts {
        let can_be_empty = exact.shortest_bytes() == 0;
        let (fronts, backs) = (LiteralSet::default(), LiteralSet::default());
        Facts { can_be_empty, exact: Some(exact), fronts, backs, query: TrigramQuery::Everything }
            .simplified()
    }

    /// Nothing is known but whether a match may be empty.
    fn anything(can_be_empty: bool) -> Facts {
        let unknown = LiteralSet::of(b"");
        let query = TrigramQuery::Everything;
        Facts { can_be_empty, exact: None, fronts: unknown.clone(), backs: unknown, query }
    }

    /// The strings with which matches begin.
    fn beginnings(&self) -> &LiteralSet {
        self.exact.as_ref().unwrap_or(&self.fronts)
    }

    /// The strings with which matches end.
    fn endings(&self) -> &LiteralSet {
        self.exact.as_ref().unwrap_or(&self.backs)
    }

    fn then(self, next: Facts) -> Facts {
        let can_be_empty = self.can_be_empty && next.can_be_empty;
        let (exact, fronts, backs) = match (&self.exact, &next.exact) {
            (Some(exact), Some(more)) => {
                (Some(exact.cross(more)), LiteralSet::default(), LiteralSet::default())
            }
            (exact, more) => {
                let fronts = match exact {
                    Some(exact) => exact.cross(&next.fronts),
                    None if self.can_be_empty => self.fronts.clone().union(next.beginnings()),
                    None => self.fronts.clone(),
                };
                let backs = match more {
                    Some(more) => self.backs.cross(more),
                    None if next.can_be_empty => next.backs.clone().union(self.endings()),
                    None => next.backs.clone(),
                };
                (None, fronts, backs)
            }
        };
        let mut query = self.query.and(next.query);
        if self.exact.is_none() && next.exact.is_none() && self.backs.is_small() && next.fronts.is_small() {
            query = query.and(self.backs.cross(&next.fronts).query());
        }
        Facts { can_be_empty, exact, fronts, backs, query }.simplified()
    }

    fn or(self, other: Facts) -> Facts {
        let can_be_empty = self.can_be_empty || other.can_be_empty;
        if let (Some(one), Some(more)) = (&self.exact, &other.exact) {
            let exact = Some(one.clone().union(more));
            let query = self.query.or(other.query);
            let (fronts, backs) = (LiteralSet::default(), LiteralSet::default());
            return Facts { can_be_empty, exact, fronts, backs, query }.simplified();
        }
        let fronts = self.beginnings().clone().union(other.beginnings());
        let backs = self.endings().clone().union(other.endings());
        let query = self.whole_query().or(other.whole_query());
        Facts { can_be_empty, exact: None, fronts, backs, query }.simplified()
    }

    fn whole_query(self) -> TrigramQuery {
        match &self.exact {
            Some(exact) => self.query.and(exact.query()),
            None => self.query,
        }
    }

    /// Turns sets that are large into conditions.
    fn simplified(mut self) -> Facts {
        if let Some(exact) = &self.exact {
            let is_few = exact.len() <= EXACT_MAX && exact.bytes() <= EXACT_BYTES_MAX;
            if is_few && exact.shortest_bytes() < LONG_BYTES {
                return self;
            }
            self.query = self.query.and(exact.query());
            (self.fronts, self.backs) = (exact.clone(), exact.clone());
            self.exact = None;
        }
        self.query = self.query.and(self.fronts.query()).and(self.backs.query());
        self.fronts = self.fronts.shortened(LiteralSet::fronts);
        self.backs = self.backs.shortened(LiteralSet::backs);
        self
    }
}
