//! The compiled expressions of a REGEXP_TREE, and the replacement of group references in values.

use basalt_base::{Error, ErrorCode, Result};
use regex_automata::MatchKind;
use regex_automata::meta::{BuildError, Builder, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;

/// Memory that the compiled expressions may take.
const SIZE_MAX: usize = 256 << 20;
/// Memory in which a thread caches the states of the automaton.
pub(super) const REMEMBERED_MAX: usize = 2 << 20;

/// Flags of all expressions of a dictionary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegexpFlags {
    pub case_insensitive: bool,
    /// `.` matches a line break.
    pub dot_is_all: bool,
}

/// All expressions, to run over a text at once: pattern `n` is that of node `n`. A node is its identifier and its
/// expression.
pub(super) fn compile_set(nodes: &[(u64, &str)], flags: RegexpFlags) -> Result<Regex> {
    let config = Config::new().match_kind(MatchKind::All).which_captures(WhichCaptures::None);
    let regexps: Vec<&str> = nodes.iter().map(|(_, regexp)| *regexp).collect();
    builder(config, flags).build_many(&regexps).map_err(|error| {
        let node = error.pattern().map(|pattern| nodes[pattern.as_usize()].0);
        wrong_regexp(node, &reason_of(&error))
    })
}

/// The expression of a node, with its groups.
pub(super) fn compile_groups(node: u64, regexp: &str, flags: RegexpFlags) -> Result<Regex> {
    let built = builder(Config::new(), flags).build(regexp);
    built.map_err(|error| wrong_regexp(Some(node), &reason_of(&error)))
}

/// Whether a text has a group reference, such as `\1` or `$1`.
pub(super) fn names_group(text: &[u8]) -> bool {
    text.windows(2).any(|pair| matches!(pair[0], b'\\' | b'$') && pair[1].is_ascii_digit())
}

/// The value `text` with its group references replaced by what the groups matched of `key`; `None` if it is only a
/// reference to a group that matched nothing.
pub(super) fn expanded(text: &[u8], key: &[u8], groups: &Captures) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match after.first() {
            Some(&digit) if matches!(byte, b'\\' | b'$') && digit.is_ascii_digit() => {
                let group = groups.get_group(usize::from(digit - b'0'));
                out.extend_from_slice(group.map_or(&[][..], |found| &key[found.range()]));
                rest = &after[1..];
            }
            _ => out.push(byte),
        }
    }
    let is_a_name = text.len() == 2 && names_group(text);
    (!is_a_name || !out.is_empty()).then_some(out)
}

fn builder(config: Config, flags: RegexpFlags) -> Builder {
    let RegexpFlags { case_insensitive, dot_is_all } = flags;
    let syntax = syntax::Config::new().utf8(false).case_insensitive(case_insensitive);
    let config =
        config.utf8_empty(false).nfa_size_limit(Some(SIZE_MAX)).hybrid_cache_capacity(REMEMBERED_MAX);
    let mut builder = Builder::new();
    builder.configure(config).syntax(syntax.dot_matches_new_line(dot_is_all));
    builder
}

fn reason_of(error: &BuildError) -> String {
    // The library draws the place of the error over several lines, and explains it in the last one.
    let text = match (error.syntax_error(), std::error::Error::source(error)) {
        (Some(wrong), _) => wrong.to_string(),
        (None, Some(limit)) => limit.to_string(),
        (None, None) => error.to_string(),
    };
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

pub(super) fn wrong_regexp(node: Option<u64>, reason: &str) -> Error {
    let what = match node {
        Some(id) => format!("the regular expression of node {id} is wrong: {reason}"),
        None => format!("the regular expressions of the dictionary cannot be compiled: {reason}"),
    };
    Error::new(ErrorCode::IncorrectDictionaryDefinition, what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_automata::util::captures::GroupInfo;

    use super::*;

    #[test]
    fn an_error_names_its_node() {
        let wrong = compile_set(&[(3, "a"), (7, "b(")], RegexpFlags::default());
        let message = wrong.map(|_| ()).map_err(|error| error.message().to_owned());
        assert!(message.is_err_and(|message| message.contains("node 7 is wrong: unclosed group")));
    }

    #[test]
    fn a_compiled_expression_tells_its_memory() {
        let bytes = |regexp| {
            compile_set(&[(1, regexp)], RegexpFlags::default()).map_or(0, |regexp| regexp.memory_usage())
        };
        assert!(bytes("[a-z]+x[0-9]{5000}") > 100_000);
        assert!((1..100_000).contains(&bytes("[a-z]+x[0-9]")));
    }

    #[test]
    fn the_name_of_a_group_alone_may_be_no_value() {
        let groups = compile_groups(1, "a(b)?", RegexpFlags::default()).expect("an expression");
        let value = |text: &[u8], key: &[u8]| {
            let mut found = groups.create_captures();
            groups.captures(key, &mut found);
            expanded(text, key, &found)
        };
        assert_eq!(value(b"$1", b"ab"), Some(b"b".to_vec()));
        assert_eq!(value(b"$1", b"a"), None);
        assert_eq!(value(b"<\\1>", b"a"), Some(b"<>".to_vec()));
    }

    proptest! {
        #[test]
        fn a_value_without_groups_is_itself(text: Vec<u8>) {
            prop_assume!(!text.contains(&b'\\') && !text.contains(&b'$'));
            prop_assert!(!names_group(&text));
            prop_assert_eq!(expanded(&text, b"", &Captures::empty(GroupInfo::empty())), Some(text));
        }
    }
}
