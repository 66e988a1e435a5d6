//! Searches the strings of a column for a pattern, in the cheapest way that the column has.
//!
//! 1. Posting lists of trigrams, if there are any, leave the blocks that may match.
//! 2. The first records are decoded and tested, because faster ways have to be prepared.
//! 3. Further records are tested as codes if the store has codes: equality compares them, any other pattern runs an
//!    automaton over them.
//! 4. If the automaton would be too large, the rest is decoded and tested.

use std::ops::{ControlFlow, Range};

use basalt_base::Result;
use basalt_codec::Tokens;

use super::automaton::{Automaton, DEAD, SINK};
use super::code_set::CodeSet;
use super::literals::trigrams_of;
use super::pattern::Pattern;
use super::report::{SearchReport, Way};
use super::token_strings::TokenStrings;
use super::tokens::TokenAutomaton;
use crate::Rank;
use crate::trigram::{Postings, TrigramQuery};
use crate::value::StringStore;

/// The records that are decoded before a faster way is prepared.
const DECODED_FIRST: u64 = 128;
/// The records that are decoded before the way is chosen again.
const BATCH: u32 = 64;
/// The records between two checks for cancellation.
const CHECKED_RECORDS: u64 = 2048;

/// A column of strings, and what helps to search it.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    pub store: &'a dyn StringStore,
    pub tokens: Option<&'a dyn TokenStrings>,
    pub postings: Option<&'a Postings>,
}

/// What a search has prepared, for the next one of the same pattern in the same column.
#[derive(Default)]
pub struct SearchMemory {
    /// Taken when it is lifted to tokens. An error: it would need too much memory.
    automaton: Option<Result<Automaton>>,
    tester: Tester,
    decoded: u64,
}

/// Takes the rank of a record that matches.
type Found<'f> = dyn FnMut(Rank) -> Result<ControlFlow<()>> + 'f;

/// Calls `found` with the ranks in `ranks` whose strings match, in ascending order, until it breaks. A row without a
/// value has the string that the store has for it; its caller knows that it is none.
pub fn search(
    strings: Strings<'_>,
    pattern: &Pattern,
    memory: &mut SearchMemory,
    ranks: Range<Rank>,
    found: &mut Found<'_>,
) -> Result<SearchReport> {
    let mut search = Search::new(strings, pattern, memory, found);
    if let Some(Ok(automaton)) = &search.memory.automaton
        && matches!(automaton.start_state(), DEAD | SINK)
    {
        let matches_all = automaton.start_state() == SINK;
        search.report.way = Way::Constant;
        if matches_all {
            for rank in ranks {
                if search.tell(rank)?.is_break() {
                    break;
                }
            }
        }
        return Ok(search.report);
    }
    match strings.postings.map(|postings| (postings, trigrams_of(pattern))) {
        Some((postings, query)) if query != TrigramQuery::Everything => {
            search.report.candidates = Some(0);
            // Rows that have no postings are tested.
            let listed = ranks.start..ranks.end.min(postings.rows());
            let rest = ranks.start.max(postings.rows())..ranks.end;
            let mut broke = false;
            postings.search(&query, listed, &mut |candidates| {
                let flow = search.run(candidates)?;
                broke = flow.is_break();
                Ok(flow)
            })?;
            if !broke {
                let _ = search.run(rest)?;
            }
        }
        _ => {
            let _ = search.run(ranks)?;
        }
    }
    Ok(search.report)
}

/// A search that goes on.
struct Search<'a, 'f, 'g> {
    strings: Strings<'a>,
    pattern: &'a Pattern,
    memory: &'a mut SearchMemory,
    found: &'f mut Found<'g>,
    report: SearchReport,
    text: Vec<u8>,
}

/// Tests records by their codes.
#[derive(Default)]
enum Tester {
    #[default]
    Unprepared,
    Codes(CodeSet),
    Automaton(Box<TokenAutomaton>),
    /// Codes cannot be tested.
    Decoded,
}

impl Tester {
    fn way(&self) -> Way {
        match self {
            Tester::Codes(_) => Way::Codes,
            Tester::Automaton(_) => Way::Automaton,
            Tester::Unprepared | Tester::Decoded => Way::Decoded,
        }
    }
}

impl<'a, 'f, 'g> Search<'a, 'f, 'g> {
    fn new(
        strings: Strings<'a>,
        pattern: &'a Pattern,
        memory: &'a mut SearchMemory,
        found: &'f mut Found<'g>,
    ) -> Search<'a, 'f, 'g> {
        if matches!(memory.tester, Tester::Unprepared) && memory.automaton.is_none() {
            memory.automaton = Some(Automaton::new(pattern));
        }
        let report = SearchReport {
            way: memory.tester.way(),
            candidates: None,
            on_codes: 0,
            decoded: 0,
            found: 0,
            is_exhausted: false,
        };
        Search { strings, pattern, memory, found, report, text: Vec::new() }
    }

    fn tell(&mut self, rank: Rank) -> Result<ControlFlow<()>> {
        self.report.found += 1;
        check_each(self.report.found)?;
        (self.found)(rank)
    }

    /// Tests the records of `ranks`.
    fn run(&mut self, ranks: Range<Rank>) -> Result<ControlFlow<()>> {
        if let Some(candidates) = &mut self.report.candidates {
            *candidates += ranks.len() as u64;
        }
        let mut from = ranks.start;
        while from < ranks.end {
            let (flow, done) = self.run_front(from..ranks.end)?;
            if flow.is_break() {
                return Ok(flow);
            }
            from = done;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Tests the records at the beginning of `ranks` in one way. Returns the rank after them.
    fn run_front(&mut self, ranks: Range<Rank>) -> Result<(ControlFlow<()>, Rank)> {
        let batch = ranks.start..ranks.end.min(ranks.start.saturating_add(BATCH));
        if self.memory.decoded < DECODED_FIRST {
            return Ok((self.decode(batch.clone())?, batch.end));
        }
        if matches!(self.memory.tester, Tester::Unprepared) {
            self.prepare();
        }
        match self.strings.tokens {
            Some(tokens) if !matches!(self.memory.tester, Tester::Decoded) => self.test_codes(tokens, ranks),
            _ => Ok((self.decode(batch.clone())?, batch.end)),
        }
    }

    /// Chooses how to test codes.
    fn prepare(&mut self) {
        let (tester, way) = match (self.strings.tokens, self.pattern.strings(), self.memory.automaton.take())
        {
            (Some(tokens), Some(strings), _) => {
                (Tester::Codes(CodeSet::new(tokens.tokens(), strings)), Way::Codes)
            }
            (Some(tokens), _, Some(Ok(automaton))) => {
                let lifted = TokenAutomaton::new(automaton, tokens.tokens());
                (Tester::Automaton(Box::new(lifted)), Way::Automaton)
            }
            (Some(_), _, _) => {
                self.report.is_exhausted = true;
                (Tester::Decoded, Way::Decoded)
            }
            (None, ..) => (Tester::Decoded, Way::Decoded),
        };
        (self.memory.tester, self.report.way) = (tester, way);
    }

    /// Tests the codes of `ranks`, until the caller has enough or the automaton is exhausted.
    fn test_codes(
        &mut self,
        tokens: &dyn TokenStrings,
        ranks: Range<Rank>,
    ) -> Result<(ControlFlow<()>, Rank)> {
        let (mut flow, mut done) = (ControlFlow::Continue(()), ranks.end);
        tokens.scan_codes(ranks, &mut |rank, codes| {
            let Some(matches) = self.test(tokens.tokens(), codes)? else {
                done = rank;
                return Ok(ControlFlow::Break(()));
            };
            self.report.on_codes += 1;
            check_each(self.report.on_codes)?;
            if matches {
                flow = self.tell(rank)?;
            }
            Ok(flow)
        })?;
        Ok((flow, done))
    }

    /// Whether the string of `codes` matches; `None` if the automaton is exhausted.
    #[inline]
    fn test(&mut self, tokens: &Tokens, codes: &[u16]) -> Result<Option<bool>> {
        match &mut self.memory.tester {
            Tester::Codes(set) => Ok(Some(set.contains(codes))),
            Tester::Automaton(automaton) => match automaton.matches(tokens, codes) {
                Err(_) if automaton.is_exhausted() => {
                    self.report.is_exhausted = true;
                    (self.memory.tester, self.report.way) = (Tester::Decoded, Way::Decoded);
                    Ok(None)
                }
                matches => matches.map(Some),
            },
            Tester::Unprepared | Tester::Decoded => Ok(None),
        }
    }

    fn decode(&mut self, ranks: Range<Rank>) -> Result<ControlFlow<()>> {
        for rank in ranks {
            self.text.clear();
            self.strings.store.append(rank, &mut self.text)?;
            self.report.decoded += 1;
            self.memory.decoded += 1;
            check_each(self.report.decoded)?;
            if self.pattern.matches(&self.text) && self.tell(rank)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Fails if the query was cancelled; asks after every few thousand of `count`.
#[inline]
fn check_each(count: u64) -> Result<()> {
    match count.is_multiple_of(CHECKED_RECORDS) {
        true => basalt_base::query::checkpoint(),
        false => Ok(()),
    }
}
