//! Every way of a search gives the ranks that a test of each string gives.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};

use basalt_base::re2::to_regex_syntax;
use basalt_base::{Error, ErrorCode, Result};
use basalt_codec::{TokenMatcher, Tokens};
use proptest::prelude::*;
use regex::bytes::RegexBuilder;

use super::automaton::Automaton;
use super::keys::search_with;
use super::pattern::Pattern;
use super::plan::{SearchMemory, Strings, search};
use super::report::Way;
use super::token_strings::{TokenStrings, VisitCodes};
use super::tokens::TokenAutomaton;
use crate::Rank;
use crate::key::{KeyAutomaton, KeyIndex};
use crate::trigram::tests::postings_of;
use crate::value::StringStore;

/// Strings with and without codes.
#[derive(Debug)]
pub(super) struct Texts {
    texts: Vec<Vec<u8>>,
    tokens: Tokens,
    codes: Vec<Vec<u16>>,
}

impl Texts {
    fn new(texts: Vec<Vec<u8>>, bits: u32) -> Texts {
        let tokens = Tokens::train(&texts.iter().map(Vec::as_slice).collect::<Vec<_>>(), bits);
        let matcher = TokenMatcher::new(&tokens);
        let encode = |text: &Vec<u8>| {
            let mut codes = Vec::new();
            matcher.encode(text, 0..text.len(), |code| codes.push(code));
            codes
        };
        let codes = texts.iter().map(encode).collect();
        Texts { texts, tokens, codes }
    }
}

impl StringStore for Texts {
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.texts[rank as usize]);
        Ok(())
    }
}

impl TokenStrings for Texts {
    fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    fn scan_codes(&self, ranks: Range<Rank>, visit: &mut VisitCodes<'_>) -> Result<()> {
        for rank in ranks {
            if visit(rank, &self.codes[rank as usize])?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Keys in a map, which are searched as a trie without shared nodes.
#[derive(Debug)]
struct Keys(BTreeMap<Vec<u8>, Rank>);

impl KeyIndex for Keys {
    fn len(&self) -> u32 {
        self.0.len() as u32
    }

    fn find(&self, key: &[u8]) -> Result<Option<Rank>> {
        Ok(self.0.get(key).copied())
    }

    fn lower_bound(&self, key: &[u8]) -> Result<u32> {
        Ok(self.0.range(key.to_owned()..).next().map_or(self.len(), |(_, &rank)| rank))
    }

    fn prefix(&self, _: &[u8]) -> Result<Range<Rank>> {
        Err(Error::logical("not used"))
    }

    fn key(&self, _: Rank, _: &mut Vec<u8>) -> Result<()> {
        Err(Error::logical("not used"))
    }

    fn scan(
        &self,
        ranks: Range<Rank>,
        visit: &mut dyn FnMut(Rank, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        for (key, &rank) in self.0.iter().filter(|(_, rank)| ranks.contains(rank)) {
            if visit(rank, key)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn search(
        &self,
        ranks: Range<Rank>,
        automaton: &mut dyn KeyAutomaton,
        found: &mut dyn FnMut(Range<Rank>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        for (key, &rank) in self.0.iter().filter(|(_, rank)| ranks.contains(rank)) {
            let mut state = automaton.start()?;
            let mut all = automaton.accepts_all(state);
            for &byte in key {
                if automaton.is_dead(state) || all {
                    break;
                }
                state = automaton.next(state, byte)?;
                all = automaton.accepts_all(state);
            }
            if (all || automaton.accepts(state)?) && found(rank..rank + 1)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn stored_bytes(&self) -> u64 {
        0
    }
}

fn key_matches(mut automaton: Automaton, text: &[u8]) -> Result<bool> {
    let start = automaton.start()?;
    let end = text.iter().try_fold(start, |state, &byte| automaton.next(state, byte))?;
    automaton.accepts(end)
}

/// All ways give the ranks of `expected`.
pub(super) fn check(texts: &Texts, pattern: &Pattern, expected: &dyn Fn(&[u8]) -> bool) {
    let expected: Vec<Rank> =
        (0..).zip(&texts.texts).filter(|(_, text)| expected(text)).map(|(rank, _)| rank).collect();
    let tested = |test: &mut dyn FnMut(usize) -> bool| -> Vec<Rank> {
        (0..texts.texts.len()).filter(|&at| test(at)).map(|at| at as Rank).collect()
    };
    assert_eq!(tested(&mut |at| pattern.matches(&texts.texts[at])), expected, "{pattern} by matches");
    let walk = |at: usize| key_matches(Automaton::new(pattern).unwrap(), &texts.texts[at]).unwrap();
    assert_eq!(tested(&mut |at| walk(at)), expected, "{pattern} by bytes");
    for rows_bytes in [0, 1 << 20] {
        let automaton = Automaton::new(pattern).unwrap();
        let mut automaton = TokenAutomaton::within(automaton, &texts.tokens, rows_bytes);
        // Twice, so that the second round reads rows that are filled.
        for _ in 0..2 {
            let found = tested(&mut |at| automaton.matches(&texts.tokens, &texts.codes[at]).unwrap());
            assert_eq!(found, expected, "{pattern} by tokens");
        }
    }
    let postings = postings_of(&texts.texts, 700, 50);
    for strings in [
        Strings { store: texts, tokens: None, postings: None },
        Strings { store: texts, tokens: Some(texts), postings: None },
        Strings { store: texts, tokens: Some(texts), postings: Some(&postings) },
    ] {
        assert_eq!(
            found_by(strings, pattern, texts.texts.len() as Rank),
            expected,
            "{pattern} in {strings:?}"
        );
    }
    let keys = Keys(texts.texts.iter().cloned().collect::<BTreeSet<_>>().into_iter().zip(0..).collect());
    let mut found = Vec::new();
    super::search_keys(&keys, pattern, 0..keys.len(), &mut |ranks| {
        found.extend(ranks);
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    let by_matches: Vec<Rank> =
        keys.0.iter().filter(|(key, _)| pattern.matches(key)).map(|(_, &rank)| rank).collect();
    assert_eq!(found, by_matches, "{pattern} over keys");
}

/// The second search goes on with what the first one has prepared.
fn found_by(strings: Strings<'_>, pattern: &Pattern, rows: Rank) -> Vec<Rank> {
    let (mut found, mut memory) = (Vec::new(), SearchMemory::default());
    for ranks in [0..rows / 2, rows / 2..rows] {
        let before = found.len();
        let report = search(strings, pattern, &mut memory, ranks, &mut |rank| {
            found.push(rank);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(report.found, (found.len() - before) as u64);
    }
    found
}

pub(super) fn texts_of(texts: Vec<Vec<u8>>) -> Texts {
    Texts::new(texts, 9)
}

/// Short texts over few bytes.
fn some_texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![6 => b'a'..=b'd', 1 => Just(b'A'), 1 => Just(b'\n'), 1 => Just(b' '), 1 => Just(0xc3), 1 => Just(0xa4), 1 => any::<u8>()];
    prop::collection::vec(prop::collection::vec(byte, 0..24), 0..300)
}

fn some_expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => "[a-d]{1,5}",
        1 => Just(".".to_owned()), 1 => Just("\\b".to_owned()), 1 => Just("\\B".to_owned()),
        1 => Just("^".to_owned()), 1 => Just("$".to_owned()), 1 => Just("(?m:^)".to_owned()),
        1 => Just("(?m:$)".to_owned()), 1 => Just("[^a]".to_owned()), 1 => Just("[a-c]".to_owned()),
        1 => Just("(?i:abk)".to_owned()), 1 => Just("\u{e4}".to_owned()), 1 => Just("\\C".to_owned()),
        1 => Just("\\w+".to_owned()), 1 => Just("[\\d\\s]".to_owned()), 1 => Just("\\z".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join("|"))),
            1 => inner.clone().prop_map(|part| format!("(?:{part})*")),
            1 => inner.clone().prop_map(|part| format!("(?:{part})?")),
            1 => inner.clone().prop_map(|part| format!("(?:{part})+?")),
            1 => inner.prop_map(|part| format!("(?:{part}){{2,3}}")),
        ]
    })
}

fn oracle(expression: &str) -> regex::bytes::Regex {
    let expression = to_regex_syntax(expression.as_bytes()).unwrap();
    RegexBuilder::new(&expression).dot_matches_new_line(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn expressions_match_what_regex_matches(texts in some_texts(), expression in some_expression()) {
        let regex = oracle(&expression);
        let pattern = Pattern::expression(expression.as_bytes()).unwrap();
        check(&texts_of(texts), &pattern, &|text| regex.is_match(text));
    }

    #[test]
    fn any_of_several_expressions_may_match(
        texts in some_texts(), expressions in prop::collection::vec(some_expression(), 0..4),
    ) {
        let all: Vec<_> = expressions.iter().map(|expression| oracle(expression)).collect();
        let patterns: Vec<&[u8]> = expressions.iter().map(String::as_bytes).collect();
        let pattern = Pattern::any_expression(&patterns).unwrap();
        check(&texts_of(texts), &pattern, &|text| all.iter().any(|regex| regex.is_match(text)));
    }

    #[test]
    fn one_of_several_patterns_may_match(
        texts in some_texts(), expression in some_expression(), literals in prop::collection::vec("[a-d]{0,3}", 0..4),
    ) {
        let literals: Vec<&[u8]> = literals.iter().map(String::as_bytes).collect();
        let forms = [Pattern::contains, Pattern::starts_with, Pattern::ends_with, |text: &[u8]| Pattern::one_of(&[text])];
        let mut all: Vec<Pattern> = forms.iter().zip(&literals).map(|(form, text)| form(text)).collect();
        for _ in 0..2 {
            let pattern = Pattern::any(all.clone()).unwrap();
            check(&texts_of(texts.clone()), &pattern, &|text| all.iter().any(|one| one.matches(text)));
            all.push(Pattern::expression(expression.as_bytes()).unwrap());
        }
    }

    #[test]
    fn literals_are_found(texts in some_texts(), needle in prop::collection::vec(b'a'..=b'd', 0..6)) {
        let texts = texts_of(texts);
        let is_in = |text: &[u8]| needle.is_empty() || text.windows(needle.len()).any(|part| part == needle);
        check(&texts, &Pattern::contains(&needle), &is_in);
        check(&texts, &Pattern::starts_with(&needle), &|text| text.starts_with(&needle));
        check(&texts, &Pattern::ends_with(&needle), &|text| text.ends_with(&needle));
    }

    #[test]
    fn equal_strings_are_found(texts in some_texts(), others in some_texts(), step in 1..50_usize) {
        let texts = texts_of(texts);
        let chosen: Vec<&[u8]> = others.iter().chain(texts.texts.iter().step_by(step)).map(Vec::as_slice).collect();
        let pattern = Pattern::one_of(&chosen);
        check(&texts, &pattern, &|text| chosen.contains(&text));
        let pattern = Pattern::one_of(&chosen[..chosen.len().min(1)]);
        let first: Vec<Vec<u8>> = chosen.iter().take(1).map(|&text| text.to_owned()).collect();
        check(&texts, &pattern, &|text| first.iter().any(|one| one == text));
    }

    #[test]
    fn like_matches_whole_strings(texts in some_texts(), pattern in "[a-dA%_]{0,7}") {
        let texts = texts_of(texts);
        let parts: String = pattern.chars().map(|character| match character {
            '%' => "(?s-u:.)*".to_owned(),
            '_' => "(?:.|(?-u:[\\x80-\\xff]))".to_owned(),
            other => other.to_string(),
        }).collect();
        for (flags, made) in [("s", Pattern::like(pattern.as_bytes())), ("is", Pattern::ilike(pattern.as_bytes()))] {
            let regex = regex::bytes::Regex::new(&format!("(?{flags})^{parts}$")).unwrap();
            check(&texts, &made.unwrap(), &|text| regex.is_match(text));
        }
    }
}

#[test]
fn backslash_takes_meaning_away() {
    let check = |text: &str, pattern: &str, expected| {
        let pattern = Pattern::like(pattern.as_bytes()).unwrap();
        assert_eq!(pattern.matches(text.as_bytes()), expected, "{text} {pattern}");
    };
    check("a%c", "a\\%c", true);
    check("aXc", "a\\%c", false);
    check("a\\c", "a\\c", true);
    check("a\\b", "a\\\\b", true);
    assert!(Pattern::like(b"a\\").is_err());
}

#[test]
fn expressions_that_are_wrong_or_too_large_are_refused() {
    for (expression, reason) in
        [("(", "unclosed"), ("a{1000}{1000}{1000}", "10485760 bytes"), ("\\q", "escape")]
    {
        let error = Pattern::expression(expression.as_bytes()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CannotCompileRegexp);
        assert!(error.message().contains(reason), "{error}");
    }
}

#[test]
fn one_of_several_sets_is_a_set() {
    let set = |texts: &[&str]| Pattern::one_of(&texts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>());
    let pattern = Pattern::any(vec![set(&["b", "c"]), set(&[]), set(&["a", "b"])]).unwrap();
    let strings = pattern.strings().unwrap();
    assert_eq!(strings.iter().map(|text| &text[..]).collect::<Vec<_>>(), [b"a", b"b", b"c"]);
    let near = Pattern::byte_distance(b"a", 1).unwrap();
    assert!(Pattern::any(vec![near.clone()]).unwrap().matches(b"b"));
    assert!(Pattern::any(vec![near, set(&["x"])]).is_err());
}

/// Texts of `a` and `b` that look random.
fn mixed_texts(count: u64) -> Vec<Vec<u8>> {
    let mixed = |at: u64| {
        let at = (at ^ at >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (at ^ at >> 31).wrapping_mul(0xff51_afd7_ed55_8ccd)
    };
    let text =
        |row: u64| (0..row % 90).map(move |at| b'a' + (mixed(row * 1000 + at) >> 60 & 1) as u8).collect();
    (0..count).map(text).collect()
}

#[test]
fn patterns_whose_states_are_too_many_are_answered() {
    let texts = texts_of(mixed_texts(5000));
    let expression = "^(a|b)*a(a|b){18}c?$";
    let (regex, pattern) = (oracle(expression), Pattern::expression(expression.as_bytes()).unwrap());
    let expected: Vec<Rank> =
        (0..).zip(&texts.texts).filter(|(_, text)| regex.is_match(text)).map(|(rank, _)| rank).collect();
    let mut found = Vec::new();
    let strings = Strings { store: &texts, tokens: Some(&texts), postings: None };
    let report = search(strings, &pattern, &mut SearchMemory::default(), 0..5000, &mut |rank| {
        found.push(rank);
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    assert_eq!(found, expected);
    assert!(report.is_exhausted && report.way == Way::Decoded && report.decoded + report.on_codes == 5000);
    let keys: BTreeSet<_> = texts.texts.iter().cloned().collect();
    let keys = Keys(keys.into_iter().zip(0..).collect());
    let expected: Vec<Rank> =
        keys.0.iter().filter(|(key, _)| regex.is_match(key)).map(|(_, &rank)| rank).collect();
    found.clear();
    let automaton = Automaton::within(&pattern, 1 << 16).unwrap();
    search_with(automaton, &keys, None, &pattern, 0..keys.len(), &mut |ranks| {
        found.extend(ranks);
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    assert_eq!(found, expected);
}

#[test]
fn a_search_ends_when_its_caller_has_enough() {
    let texts = texts_of(vec![b"abc".to_vec(); 1000]);
    for (pattern, enough) in [("b", 10), ("b", 500), (".*", 10)] {
        let strings = Strings { store: &texts, tokens: Some(&texts), postings: None };
        let mut count = 0;
        let report = search(
            strings,
            &Pattern::expression(pattern.as_bytes()).unwrap(),
            &mut SearchMemory::default(),
            0..1000,
            &mut |_| {
                count += 1;
                Ok(if count == enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        );
        assert_eq!(report.unwrap().found, enough);
    }
}

#[test]
fn the_way_is_reported() {
    let texts = texts_of((0..1000).map(|row| format!("record number {row} of many").into_bytes()).collect());
    let postings = postings_of(&texts.texts, 500, 1 << 20);
    let way = |pattern: &Pattern, postings| {
        let strings = Strings { store: &texts, tokens: Some(&texts), postings };
        search(strings, pattern, &mut SearchMemory::default(), 0..1000, &mut |_| {
            Ok(ControlFlow::Continue(()))
        })
        .unwrap()
    };
    assert_eq!(way(&Pattern::like(b"%").unwrap(), None).way, Way::Constant);
    assert_eq!(way(&Pattern::any_expression(&[]).unwrap(), None).way, Way::Constant);
    assert_eq!(way(&Pattern::one_of(&[b"record number 7 of many"]), None).way, Way::Codes);
    assert_eq!(way(&Pattern::contains(b"7 of"), None).way, Way::Automaton);
    let pruned = way(&Pattern::contains(b"number 777"), Some(&postings));
    assert_eq!(
        (pruned.way, pruned.candidates, pruned.decoded, pruned.found),
        (Way::Decoded, Some(64), 64, 1)
    );
    assert_eq!(
        pruned.to_string(),
        "decoded, 64 candidates of posting lists, 0 tested as codes, 64 decoded, 1 found"
    );
}
