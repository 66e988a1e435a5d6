//! What every key index promises, checked against a sorted list of its keys.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use basalt_base::Result;

use super::{KeyAutomaton, KeyIndex};
use crate::Rank;

/// Checks all methods. `probes` are looked up besides the keys and their neighbours.
pub(crate) fn check_index(index: &dyn KeyIndex, keys: &[Vec<u8>], probes: &[Vec<u8>]) {
    assert!(keys.is_sorted_by(|one, other| one < other), "a test gives sorted keys");
    assert_eq!((index.len() as usize, index.is_empty()), (keys.len(), keys.is_empty()));
    let step = (keys.len() / 500).max(1);
    for (rank, key) in keys.iter().enumerate().step_by(step) {
        assert_eq!(index.find(key).expect("a lookup"), Some(rank as Rank), "{key:?}");
        let mut out = b"before".to_vec();
        index.key(rank as Rank, &mut out).expect("a key");
        assert_eq!(&out[6..], key, "rank {rank}");
        neighbours(key).iter().for_each(|probe| check_probe(index, keys, probe));
    }
    probes.iter().for_each(|probe| check_probe(index, keys, probe));
    check_scans(index, keys);
    for last in [b"".as_slice(), b"a", b"\0", b"\xff", b"/x"] {
        let end = keys.len() as Rank;
        for ranks in [0..end, end / 3..end, 0..end / 2, end / 2..end / 2, end..end] {
            check_search(index, keys, ranks, last);
        }
    }
    assert!(index.key(keys.len() as Rank, &mut Vec::new()).is_err());
    assert!(index.scan(0..keys.len() as Rank + 1, &mut |_, _| Ok(ControlFlow::Continue(()))).is_err());
}

/// Calls all methods of an index whose file is damaged: they return.
pub(crate) fn exercise(index: &dyn KeyIndex, probes: &[Vec<u8>]) {
    let ranks = 0..index.len();
    for probe in probes {
        let _ = (index.find(probe), index.lower_bound(probe), index.prefix(probe));
    }
    for rank in ranks.clone().step_by(7).take(20).chain(ranks.clone().last()) {
        let _ = index.key(rank, &mut Vec::new());
    }
    let mut visited = 0;
    let _ = index.scan(ranks.clone(), &mut |_, _| {
        visited += 1;
        Ok(if visited == 1000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    let _ = index.search(ranks.start..ranks.end.min(1000), &mut Toy::new(b"a"), &mut |range| {
        assert!(!range.is_empty() && range.end <= ranks.end);
        Ok(ControlFlow::Continue(()))
    });
}

/// Keys next to `key` in some order.
fn neighbours(key: &[u8]) -> Vec<Vec<u8>> {
    let with = |last: &[u8]| [key, last].concat();
    let mut near = vec![key.to_vec(), with(b"\0"), with(b"\xff"), with(b"a")];
    if let Some((&last, front)) = key.split_last() {
        near.push(front.to_vec());
        near.push([front, &[last.wrapping_add(1)]].concat());
        near.push([front, &[last.wrapping_sub(1)]].concat());
        near.push(key[..key.len() / 2].to_vec());
    }
    near
}

fn check_probe(index: &dyn KeyIndex, keys: &[Vec<u8>], probe: &[u8]) {
    let found = keys.binary_search_by(|key| key.as_slice().cmp(probe));
    let less = found.unwrap_or_else(|less| less) as Rank;
    assert_eq!(index.find(probe).expect("a lookup"), found.ok().map(|rank| rank as Rank), "{probe:?}");
    assert_eq!(index.lower_bound(probe).expect("a lookup"), less, "{probe:?}");
    let end = less + keys[less as usize..].partition_point(|key| key.starts_with(probe)) as Rank;
    assert_eq!(index.prefix(probe).expect("a lookup"), less..end, "{probe:?}");
}

fn check_scans(index: &dyn KeyIndex, keys: &[Vec<u8>]) {
    let end = keys.len() as Rank;
    for ranks in [0..end, end / 3..end / 2, end.saturating_sub(3)..end, 0..0, end..end] {
        let mut scanned = Vec::new();
        let mut visit = |rank: Rank, key: &[u8]| {
            assert_eq!(rank, ranks.start + scanned.len() as Rank);
            scanned.push(key.to_vec());
            Ok(ControlFlow::Continue(()))
        };
        index.scan(ranks.clone(), &mut visit).expect("a scan");
        assert!(scanned == keys[ranks.start as usize..ranks.end as usize], "{ranks:?}");
    }
    let mut visited = 0;
    let mut visit = |_: Rank, _: &[u8]| {
        visited += 1;
        Ok(if visited == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    index.scan(0..end, &mut visit).expect("a scan");
    assert_eq!(visited, keys.len().min(2), "a scan ends when it is told to");
}

fn check_search(index: &dyn KeyIndex, keys: &[Vec<u8>], ranks: Range<Rank>, wanted: &[u8]) {
    let expected: Vec<Rank> =
        ranks.clone().filter(|&rank| Toy::matches(wanted, &keys[rank as usize])).collect();
    let (mut found, mut last) = (Vec::new(), None);
    let mut take = |range: Range<Rank>| {
        assert!(!range.is_empty() && last.is_none_or(|last| range.start > last), "ranges ascend, apart");
        last = Some(range.end);
        found.extend(range);
        Ok(ControlFlow::Continue(()))
    };
    index.search(ranks.clone(), &mut Toy::new(wanted), &mut take).expect("a search");
    assert_eq!(found, expected, "{wanted:?} in {ranks:?}");
    let mut calls = 0;
    let mut take = |_: Range<Rank>| {
        calls += 1;
        Ok(ControlFlow::Break(()))
    };
    index.search(ranks, &mut Toy::new(wanted), &mut take).expect("a search");
    assert!(calls <= 1, "a search ends when it is told to");
}

/// Accepts keys that have the byte `!` or begin with `b`, or end with some bytes and do not have the byte `z` before.
/// So it has states after which nothing and everything is accepted.
pub(crate) struct Toy<'a> {
    wanted: &'a [u8],
    /// A state is a suffix of the bytes read, as long as `wanted` at most.
    states: Vec<Vec<u8>>,
    known: HashMap<Vec<u8>, u32>,
}

const DEAD: u32 = 0;
const ALL: u32 = 1;
const START: u32 = 2;

impl<'a> Toy<'a> {
    pub(crate) fn new(wanted: &'a [u8]) -> Toy<'a> {
        Toy { wanted, states: vec![Vec::new(), Vec::new(), b"^".to_vec()], known: HashMap::new() }
    }

    fn matches(wanted: &[u8], key: &[u8]) -> bool {
        let stop = key.iter().position(|byte| b"!z".contains(byte));
        match stop.map(|at| key[at]) {
            _ if key.first() == Some(&b'b') => true,
            Some(b'!') => true,
            Some(_) => false,
            None => key.ends_with(wanted),
        }
    }
}

impl KeyAutomaton for Toy<'_> {
    fn start(&mut self) -> Result<u32> {
        Ok(START)
    }

    fn next(&mut self, state: u32, byte: u8) -> Result<u32> {
        assert!(!self.is_dead(state) && !self.accepts_all(state), "a decided search goes no further");
        match byte {
            b'!' => return Ok(ALL),
            b'b' if state == START => return Ok(ALL),
            b'z' => return Ok(DEAD),
            _ => {}
        }
        let before = if state == START { &[][..] } else { &self.states[state as usize] };
        let mut suffix = [before, &[byte]].concat();
        suffix.drain(..suffix.len().saturating_sub(self.wanted.len()));
        let number = self.states.len() as u32;
        Ok(*self.known.entry(suffix).or_insert_with_key(|suffix| {
            self.states.push(suffix.clone());
            number
        }))
    }

    fn accepts(&mut self, state: u32) -> Result<bool> {
        let suffix = if state == START { &[][..] } else { &self.states[state as usize] };
        Ok(suffix.ends_with(self.wanted))
    }

    fn is_dead(&self, state: u32) -> bool {
        state == DEAD
    }

    fn accepts_all(&self, state: u32) -> bool {
        state == ALL
    }
}
