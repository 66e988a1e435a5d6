//! A test of one string.

use arrow::array::{Array, BinaryViewArray};
use basalt_base::Result;
use basalt_segment::search::Pattern;

/// A test of a string that is not NULL.
#[derive(Clone, Debug)]
pub(crate) enum TextTest {
    /// A regular expression matches, as in `match`.
    Expression(Vec<u8>),
    /// One of several regular expressions matches.
    AnyExpression(Vec<Vec<u8>>),
    Like(Vec<u8>),
    ILike(Vec<u8>),
    Contains(Vec<u8>),
    StartsWith(Vec<u8>),
    EndsWith(Vec<u8>),
    /// The string is one of these. None is NULL; they may repeat.
    OneOf(BinaryViewArray),
    /// At most `most` edits of bytes lead from `text` to the string.
    ByteDistance {
        text: Vec<u8>,
        most: u8,
    },
    /// The same for edits of characters.
    CharacterDistance {
        text: String,
        most: u8,
    },
    /// One of several tests, none of which is a distance.
    Any(Vec<TextTest>),
}

impl TextTest {
    /// The pattern that a search takes. An error: it takes too much memory. The filter is evaluated then, as if there
    /// were no condition.
    pub(crate) fn pattern(&self) -> Result<Pattern> {
        match self {
            TextTest::Expression(expression) => Pattern::expression(expression),
            TextTest::AnyExpression(expressions) => Pattern::any_expression(&slices(expressions)),
            TextTest::Like(pattern) => Pattern::like(pattern),
            TextTest::ILike(pattern) => Pattern::ilike(pattern),
            TextTest::Contains(part) => Ok(Pattern::contains(part)),
            TextTest::StartsWith(part) => Ok(Pattern::starts_with(part)),
            TextTest::EndsWith(part) => Ok(Pattern::ends_with(part)),
            TextTest::OneOf(strings) => {
                Ok(Pattern::one_of(&(0..strings.len()).map(|at| strings.value(at)).collect::<Vec<_>>()))
            }
            TextTest::ByteDistance { text, most } => Pattern::byte_distance(text, *most),
            TextTest::CharacterDistance { text, most } => Pattern::character_distance(text, *most),
            TextTest::Any(tests) => {
                Pattern::any(tests.iter().map(TextTest::pattern).collect::<Result<Vec<_>>>()?)
            }
        }
    }

    pub(super) fn is_distance(&self) -> bool {
        matches!(self, TextTest::ByteDistance { .. } | TextTest::CharacterDistance { .. })
    }
}

fn slices(texts: &[Vec<u8>]) -> Vec<&[u8]> {
    texts.iter().map(Vec::as_slice).collect()
}
