//! A predicate on byte strings: a regular expression, LIKE, ILIKE, a substring, a prefix, a suffix, a set of strings, an
//! edit distance, or one of several of these.
//!
//! It has the semantics of the SQL functions `match`, `like`, `ilike`, `position` and `editDistance`: the syntax is
//! that of RE2 ([`basalt_base::re2`]), `.` also matches a line break, and strings need not be UTF-8.
//! [`Pattern::matches`] tests a string that is in memory; keys and compressed strings are tested by automata that are
//! made from [`Pattern::tree`], with the same answers.
//!
//! # Invariants
//!
//! - **Bounded size**: an expression that takes more than [`EXPRESSION_BYTES_MAX`] when it is compiled is refused.

use std::fmt;

use basalt_base::re2::to_regex_syntax;
use basalt_base::{Error, ErrorCode, Result, bail};
use memchr::memmem::Finder;
use regex_automata::meta;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind, Look};

use super::distance::Distance;
use super::like::{LikePart, like_expression, like_parts};
use super::literals::trigrams_of;
use crate::trigram::TrigramQuery;

/// The memory of a compiled expression, as for the function `match`.
const EXPRESSION_BYTES_MAX: usize = 10 << 20;
/// The bytes of a pattern that an error shows.
const SHOWN_BYTES_MAX: usize = 200;

/// A predicate on byte strings.
#[derive(Clone, Debug)]
pub struct Pattern {
    form: Form,
    text: String,
}

#[derive(Clone, Debug)]
pub(super) enum Form {
    Anything,
    /// Sorted and distinct.
    OneOf(Vec<Box<[u8]>>),
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Contains(Box<Finder<'static>>),
    Expression {
        hir: Hir,
        regex: meta::Regex,
    },
    Distance(Distance),
}

/// What an automaton is made from.
pub(super) enum Tree<'a> {
    /// A string matches if it has a substring that the syntax tree matches.
    Expression(Hir),
    /// A string matches as a whole.
    Distance(&'a Distance),
}

impl Pattern {
    /// A regular expression in RE2's syntax that matches somewhere in a string: `match`.
    pub fn expression(pattern: &[u8]) -> Result<Pattern> {
        let text = shown("match", &[pattern]);
        Ok(Pattern { form: Form::expression(parse_re2(pattern)?, &text)?, text })
    }

    /// At least one of several regular expressions: `multiMatchAny`. An empty list matches nothing.
    pub fn any_expression(patterns: &[&[u8]]) -> Result<Pattern> {
        let text = shown("multiMatchAny", patterns);
        let parsed = patterns.iter().map(|pattern| parse_re2(pattern)).collect::<Result<_>>()?;
        Ok(Pattern { form: Form::expression(Hir::alternation(parsed), &text)?, text })
    }

    /// At least one of several patterns. An empty list matches nothing. An error: they are too large together, or one
    /// of several is an edit distance.
    pub fn any(mut patterns: Vec<Pattern>) -> Result<Pattern> {
        if patterns.len() == 1
            && let Some(only) = patterns.pop()
        {
            return Ok(only);
        }
        if let Some(sets) = patterns.iter().map(Pattern::strings).collect::<Option<Vec<_>>>() {
            return Ok(Pattern::one_of(&sets.concat().iter().map(|string| &string[..]).collect::<Vec<_>>()));
        }
        let text = patterns.iter().map(|pattern| pattern.text.as_str()).collect::<Vec<_>>().join(" or ");
        let hirs = patterns.iter().map(|pattern| match pattern.tree() {
            Tree::Expression(hir) => Ok(hir),
            Tree::Distance(_) => bail!(BadArguments, "an edit distance cannot be a part of `{text}`"),
        });
        Ok(Pattern { form: Form::expression(Hir::alternation(hirs.collect::<Result<_>>()?), &text)?, text })
    }

    /// LIKE.
    pub fn like(pattern: &[u8]) -> Result<Pattern> {
        let text = shown("like", &[pattern]);
        let parts = like_parts(pattern)?;
        let form = match &parts[..] {
            [] => Form::OneOf(vec![Box::default()]),
            [LikePart::AnyBytes] => Form::Anything,
            [LikePart::Literal(text)] => Form::OneOf(vec![text.as_slice().into()]),
            [LikePart::Literal(text), LikePart::AnyBytes] => Form::Prefix(text.clone()),
            [LikePart::AnyBytes, LikePart::Literal(text)] => Form::Suffix(text.clone()),
            [LikePart::AnyBytes, LikePart::Literal(text), LikePart::AnyBytes] => Form::contains(text),
            parts => Form::expression(parse(&like_expression(parts, false), &text)?, &text)?,
        };
        Ok(Pattern { form, text })
    }

    /// LIKE that ignores the case of letters.
    pub fn ilike(pattern: &[u8]) -> Result<Pattern> {
        let text = shown("ilike", &[pattern]);
        let hir = parse(&like_expression(&like_parts(pattern)?, true), &text)?;
        Ok(Pattern { form: Form::expression(hir, &text)?, text })
    }

    pub fn contains(needle: &[u8]) -> Pattern {
        Pattern { form: Form::contains(needle), text: shown("contains", &[needle]) }
    }

    pub fn starts_with(prefix: &[u8]) -> Pattern {
        Pattern { form: Form::Prefix(prefix.to_owned()), text: shown("startsWith", &[prefix]) }
    }

    pub fn ends_with(suffix: &[u8]) -> Pattern {
        Pattern { form: Form::Suffix(suffix.to_owned()), text: shown("endsWith", &[suffix]) }
    }

    /// The strings that are in `strings`: `=` and IN. An empty list matches nothing.
    pub fn one_of(strings: &[&[u8]]) -> Pattern {
        let mut sorted: Vec<Box<[u8]>> = strings.iter().map(|&string| string.into()).collect();
        sorted.sort_unstable();
        sorted.dedup();
        Pattern { form: Form::OneOf(sorted), text: shown("in", strings) }
    }

    /// The strings that become `text` by at most `most` edits of bytes: `editDistance`. An error: the text is too long,
    /// or the distance too large.
    pub fn byte_distance(text: &[u8], most: u8) -> Result<Pattern> {
        let distance = Distance::of_bytes(text, most)?;
        Ok(Pattern {
            form: Form::Distance(distance),
            text: shown(&format!("within {most} bytes of"), &[text]),
        })
    }

    /// The same for edits of characters. A byte that is no part of a character counts as one.
    pub fn character_distance(text: &str, most: u8) -> Result<Pattern> {
        let shown = shown(&format!("within {most} characters of"), &[text.as_bytes()]);
        Ok(Pattern { form: Form::Distance(Distance::of_characters(text, most)?), text: shown })
    }

    /// Whether every match has trigrams that are known, so that lists of trigrams leave out rows.
    pub fn has_trigrams(&self) -> bool {
        trigrams_of(self) != TrigramQuery::Everything
    }

    /// Whether `string` matches.
    pub fn matches(&self, string: &[u8]) -> bool {
        match &self.form {
            Form::Anything => true,
            Form::OneOf(strings) => strings.binary_search_by(|one| one[..].cmp(string)).is_ok(),
            Form::Prefix(prefix) => string.starts_with(prefix),
            Form::Suffix(suffix) => string.ends_with(suffix),
            Form::Contains(finder) => finder.find(string).is_some(),
            Form::Expression { regex, .. } => regex.is_match(string),
            Form::Distance(distance) => distance.matches(string),
        }
    }

    pub(super) fn tree(&self) -> Tree<'_> {
        let (start, end) = (|| Hir::look(Look::Start), || Hir::look(Look::End));
        Tree::Expression(match &self.form {
            Form::Anything => Hir::empty(),
            Form::OneOf(strings) => {
                let literals = strings.iter().map(|string| Hir::literal(string.clone())).collect();
                Hir::concat(vec![start(), Hir::alternation(literals), end()])
            }
            Form::Prefix(prefix) => Hir::concat(vec![start(), Hir::literal(prefix.as_slice())]),
            Form::Suffix(suffix) => Hir::concat(vec![Hir::literal(suffix.as_slice()), end()]),
            Form::Contains(finder) => Hir::literal(finder.needle()),
            Form::Expression { hir, .. } => hir.clone(),
            Form::Distance(distance) => return Tree::Distance(distance),
        })
    }

    /// The strings of a pattern that is a set of strings.
    pub(super) fn strings(&self) -> Option<&[Box<[u8]>]> {
        match &self.form {
            Form::OneOf(strings) => Some(strings),
            _ => None,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Form {
    fn contains(needle: &[u8]) -> Form {
        match needle {
            [] => Form::Anything,
            needle => Form::Contains(Box::new(Finder::new(needle).into_owned())),
        }
    }

    fn expression(hir: Hir, text: &str) -> Result<Form> {
        if let HirKind::Literal(literal) = hir.kind() {
            return Ok(Form::contains(&literal.0));
        }
        if hir.properties().minimum_len().is_none() {
            // It never matches.
            return Ok(Form::OneOf(Vec::new()));
        }
        let config = meta::Config::new()
            .utf8_empty(false)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(EXPRESSION_BYTES_MAX));
        let built = meta::Builder::new().configure(config).build_from_hir(&hir);
        let regex = built.map_err(|error| match error.size_limit() {
            Some(bytes) => wrong(text, &format!("it takes more than {bytes} bytes when it is compiled")),
            None => wrong(text, &error.to_string()),
        })?;
        Ok(Form::Expression { hir, regex })
    }
}

fn parse_re2(pattern: &[u8]) -> Result<Hir> {
    let text = shown("match", &[pattern]);
    let expression = to_regex_syntax(pattern).map_err(|error| wrong(&text, error.message()))?;
    parse(&expression, &text)
}

fn parse(expression: &str, text: &str) -> Result<Hir> {
    let mut parser = ParserBuilder::new().utf8(false).dot_matches_new_line(true).build();
    parser.parse(expression).map_err(|error| {
        // The library prints the position on several lines; the last line has the reason.
        let error = error.to_string();
        wrong(text, error.lines().last().unwrap_or_default().trim_start_matches("error: "))
    })
}

fn wrong(text: &str, reason: &str) -> Error {
    let what = format!("cannot compile the regular expression of {text}: {reason}");
    Error::new(ErrorCode::CannotCompileRegexp, what)
}

fn shown(function: &str, patterns: &[&[u8]]) -> String {
    let mut text = String::from(function);
    for pattern in patterns {
        let front = &pattern[..pattern.len().min(SHOWN_BYTES_MAX)];
        text.push_str(&format!(" `{}`", String::from_utf8_lossy(front)));
        if text.len() > SHOWN_BYTES_MAX {
            text.push_str(" and more");
            break;
        }
    }
    text
}
