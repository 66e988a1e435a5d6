//! A deterministic automaton for a pattern, whose states are made when they are first reached.
//!
//! A state is a set of states of the nondeterministic automaton of `regex-automata`, and as much of the last byte as
//! assertions that are not decided depend on. Whether a string matches is all that is asked. So a set has no order,
//! and a state from which every continuation matches is one state, [`SINK`]. For a substring the states are those of
//! Knuth, Morris and Pratt.
//!
//! # Cost
//!
//! A step that was taken before is one lookup. The states and their steps take at most [`BYTES_MAX`]; a pattern that
//! reaches more states has an error, after which a caller tests strings with [`Pattern::matches`].

use std::collections::HashMap;

use basalt_base::{Error, ErrorCode, Result};
use regex_automata::nfa::thompson::{Compiler, Config, NFA, State, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

use super::closure::{Ahead, Closure};
use super::pattern::{Pattern, Tree};
use crate::key::KeyAutomaton;

/// A step that was not taken yet.
const UNKNOWN: u16 = 0;
/// No continuation matches.
pub(super) const DEAD: u16 = 1;
/// Every continuation matches.
pub(super) const SINK: u16 = 2;
/// The smallest number of a state that has steps.
pub(super) const STEPPING: u16 = 3;

/// The bytes of states and steps of an automaton.
const BYTES_MAX: usize = 16 << 20;
/// The bytes of the nondeterministic automaton.
const NFA_BYTES_MAX: usize = 4 << 20;
/// What a state takes beside its steps and two copies of its set.
const STATE_BYTES: usize = 128;

/// What the byte before a position means for assertions.
const NOTHING: u32 = 0;
const LINE_FEED: u32 = 1;
const RETURN: u32 = 2;
const WORD: u32 = 3;
const OTHER: u32 = 4;

/// The automaton. A search owns it.
pub struct Automaton {
    nfa: NFA,
    /// The class of each byte: bytes of a class have the same steps.
    classes: [u8; 256],
    class_count: usize,
    /// The steps of each state, by class.
    steps: Vec<u16>,
    states: Vec<Set>,
    known: HashMap<Set, u16>,
    closure: Closure,
    /// Whether some assertions depend on what is before them.
    looks_behind: bool,
    bytes: usize,
    bytes_max: usize,
    start: u16,
    is_exhausted: bool,
}

/// A state: states of the nondeterministic automaton in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Set {
    ids: Box<[StateID]>,
    /// What the last byte means for undecided assertions.
    before: u32,
    /// Whether some assertions are undecided.
    is_undecided: bool,
    /// Whether a string that ends here matches.
    accepts: bool,
}

impl Automaton {
    /// An error: the pattern is too large.
    pub fn new(pattern: &Pattern) -> Result<Automaton> {
        Automaton::within(pattern, BYTES_MAX)
    }

    /// An automaton whose states take at most `bytes_max`.
    pub(super) fn within(pattern: &Pattern, bytes_max: usize) -> Result<Automaton> {
        let nfa = nfa_of(pattern)?;
        if nfa.look_set_any().contains_word_unicode() {
            return Err(Error::new(
                ErrorCode::NotImplemented,
                "words of Unicode have no automaton over bytes",
            ));
        }
        let classes: [u8; 256] = std::array::from_fn(|byte| nfa.byte_classes().get(byte as u8));
        let class_count = usize::from(classes.iter().copied().max().unwrap_or(0)) + 1;
        let closure = Closure::new(&nfa);
        let looks_behind = nfa.look_set_any().iter().any(|look| !matches!(look, Look::End | Look::EndLF));
        let states = vec![Set::default(); usize::from(STEPPING)];
        let mut steps = vec![DEAD; class_count * states.len()];
        steps[class_count * usize::from(SINK)..].fill(SINK);
        let mut automaton = Automaton {
            nfa,
            classes,
            class_count,
            steps,
            states,
            known: HashMap::new(),
            closure,
            looks_behind,
            bytes: 0,
            bytes_max,
            start: DEAD,
            is_exhausted: false,
        };
        automaton.closure.clear();
        automaton.closure.add(&automaton.nfa, automaton.nfa.start_unanchored(), None, Ahead::Unknown);
        automaton.start = automaton.intern(None)?;
        Ok(automaton)
    }

    pub(super) fn start_state(&self) -> u16 {
        self.start
    }

    /// Whether a step failed because the states would take more than their limit.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// The state after `byte`, from a state that was made.
    #[inline]
    pub(super) fn step(&mut self, state: u16, byte: u8) -> Result<u16> {
        let place = usize::from(state) * self.class_count + usize::from(self.classes[usize::from(byte)]);
        match self.steps.get(place) {
            Some(&UNKNOWN) => self.make_step(state, byte, place),
            Some(&next) => Ok(next),
            None => Ok(DEAD),
        }
    }

    pub(super) fn accepts_end(&self, state: u16) -> bool {
        state == SINK || self.states.get(usize::from(state)).is_some_and(|set| set.accepts)
    }

    #[cold]
    fn make_step(&mut self, state: u16, byte: u8, place: usize) -> Result<u16> {
        let set = self.states[usize::from(state)].clone();
        let ids = if set.is_undecided {
            self.decide(&set, Ahead::Byte(byte));
            if self.closure.matched {
                self.steps[place] = SINK;
                return Ok(SINK);
            }
            self.closure.reached.as_slice().into()
        } else {
            set.ids
        };
        self.closure.clear();
        for &id in &ids {
            let next = match self.nfa.state(id) {
                State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                State::Sparse(transitions) => transitions.matches_byte(byte),
                State::Dense(transitions) => transitions.matches_byte(byte),
                _ => None,
            };
            if let Some(next) = next {
                self.closure.add(&self.nfa, next, Some(byte), Ahead::Unknown);
            }
        }
        let next = self.intern(Some(byte))?;
        self.steps[place] = next;
        Ok(next)
    }

    /// Collects what `set` is before `ahead`.
    fn decide(&mut self, set: &Set, ahead: Ahead) {
        let before = match set.before {
            NOTHING => None,
            LINE_FEED => Some(b'\n'),
            RETURN => Some(b'\r'),
            WORD => Some(b'a'),
            _ => Some(b' '),
        };
        self.closure.clear();
        set.ids.iter().for_each(|&id| self.closure.add(&self.nfa, id, before, ahead));
    }

    /// The state of what was collected after the byte `before`. It is made if it is new.
    fn intern(&mut self, before: Option<u8>) -> Result<u16> {
        if self.closure.matched {
            return Ok(SINK);
        }
        self.closure.reached.sort_unstable();
        let ids: Box<[StateID]> = self.closure.reached.as_slice().into();
        if ids.is_empty() {
            return Ok(DEAD);
        }
        let is_undecided = ids.iter().any(|&id| matches!(self.nfa.state(id), State::Look { .. }));
        let before = if is_undecided && self.looks_behind { meaning(before) } else { OTHER };
        let mut set = Set { ids, before, is_undecided, accepts: false };
        if is_undecided {
            self.decide(&set, Ahead::End);
            set.accepts = self.closure.matched;
        }
        match self.known.get(&set) {
            Some(&state) => Ok(state),
            None => self.make_state(set),
        }
    }

    fn make_state(&mut self, set: Set) -> Result<u16> {
        let bytes = STATE_BYTES + 2 * size_of_val(&*set.ids) + self.class_count * size_of::<u16>();
        let state = u16::try_from(self.states.len()).ok().filter(|_| self.bytes + bytes <= self.bytes_max);
        let Some(state) = state else {
            self.is_exhausted = true;
            return Err(too_large(self.bytes_max));
        };
        self.bytes += bytes;
        self.steps.resize(self.steps.len() + self.class_count, UNKNOWN);
        self.states.push(set.clone());
        self.known.insert(set, state);
        Ok(state)
    }
}

impl KeyAutomaton for Automaton {
    fn start(&mut self) -> Result<u32> {
        Ok(self.start.into())
    }

    fn next(&mut self, state: u32, byte: u8) -> Result<u32> {
        let state = u16::try_from(state).unwrap_or(DEAD);
        self.step(state, byte).map(u32::from)
    }

    fn accepts(&mut self, state: u32) -> Result<bool> {
        Ok(u16::try_from(state).is_ok_and(|state| self.accepts_end(state)))
    }

    fn is_dead(&self, state: u32) -> bool {
        state == u32::from(DEAD)
    }

    fn accepts_all(&self, state: u32) -> bool {
        state == u32::from(SINK)
    }
}

fn nfa_of(pattern: &Pattern) -> Result<NFA> {
    let config =
        Config::new().utf8(false).which_captures(WhichCaptures::None).nfa_size_limit(Some(NFA_BYTES_MAX));
    let nfa = match pattern.tree() {
        Tree::Expression(hir) => Compiler::new().configure(config).build_from_hir(&hir),
        Tree::Distance(distance) => distance.nfa(NFA_BYTES_MAX),
    };
    nfa.map_err(|_| too_large(NFA_BYTES_MAX))
}

fn meaning(before: Option<u8>) -> u32 {
    match before {
        None => NOTHING,
        Some(b'\n') => LINE_FEED,
        Some(b'\r') => RETURN,
        Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => WORD,
        Some(_) => OTHER,
    }
}

fn too_large(bytes: usize) -> Error {
    Error::new(
        ErrorCode::MemoryLimitExceeded,
        format!("the automaton of a pattern takes more than {bytes} bytes"),
    )
}
