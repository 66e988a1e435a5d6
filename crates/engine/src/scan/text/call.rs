//! What the result of a function tells of a string.

use arrow::array::{Array, AsArray};
use basalt_base::Columns;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, Operator};

use super::condition::{Implied, text_column, text_of};
use super::test::TextTest;
use crate::scan::compared_call::ComparedCall;

/// The result for each string that passes the test.
#[derive(Clone, Copy)]
enum Passing {
    One,
    OneOrMore,
    /// It may also be 0.
    Anything,
}

/// The test that follows from a call that is compared with a number.
pub(super) fn of_call(compared: &ComparedCall<'_>, columns: &Columns) -> Option<Implied> {
    let (name, args) = (compared.call.func.name(), compared.call.args.as_slice());
    if matches!(name, "editDistance" | "editDistanceUTF8") {
        return of_distance(compared, columns);
    }
    // A string that does not pass has the result 0.
    if compared.holds(0) {
        return None;
    }
    let (operand, pattern) = match (name, args) {
        ("locate", [pattern, operand, ..]) | (_, [operand, pattern, ..]) => (operand, pattern),
        _ => return None,
    };
    let column = text_column(operand, columns)?;
    let (test, passing) = match name {
        "multiMatchAny" | "multiSearchAny" => of_list(name, texts_of(pattern)?)?,
        _ => of_text(name, text_of(pattern)?)?,
    };
    let is_exact = match passing {
        // A search from a later place on finds less.
        _ if args.len() > 2 => false,
        Passing::One => compared.holds(1),
        Passing::OneOrMore => compared.holds_for_all_but_zero(),
        Passing::Anything => false,
    };
    Some(Implied { column, is_exact, test })
}

fn of_text(name: &str, text: Vec<u8>) -> Option<(TextTest, Passing)> {
    let is_continued = text.first().is_some_and(|first| first & 0xc0 == 0x80);
    Some(match name {
        "match" => (TextTest::Expression(text), Passing::One),
        "like" => (TextTest::Like(text), Passing::One),
        "ilike" => (TextTest::ILike(text), Passing::One),
        "startsWith" => (TextTest::StartsWith(text), Passing::One),
        "endsWith" => (TextTest::EndsWith(text), Passing::One),
        // An empty token is nowhere.
        "hasToken" if !text.is_empty() => (TextTest::Contains(text), Passing::Anything),
        "position" | "locate" => (TextTest::Contains(text), Passing::OneOrMore),
        // Bytes before the first character are not searched.
        "positionUTF8" if is_continued => (TextTest::Contains(text), Passing::Anything),
        "positionUTF8" => (TextTest::Contains(text), Passing::OneOrMore),
        "positionCaseInsensitive" => (TextTest::Expression(folded(&text)), Passing::OneOrMore),
        // An empty string is found nowhere.
        "countSubstrings" if !text.is_empty() => (TextTest::Contains(text), Passing::OneOrMore),
        "countSubstringsCaseInsensitive" if !text.is_empty() => {
            (TextTest::Expression(folded(&text)), Passing::OneOrMore)
        }
        _ => return None,
    })
}

fn of_list(name: &str, texts: Vec<Vec<u8>>) -> Option<(TextTest, Passing)> {
    if name == "multiMatchAny" {
        return Some((TextTest::AnyExpression(texts), Passing::One));
    }
    // An empty string contains no needle, not even an empty one.
    let has_empty = texts.iter().any(Vec::is_empty);
    let test = TextTest::Any(texts.into_iter().map(TextTest::Contains).collect());
    (!has_empty).then_some((test, Passing::One))
}

/// `extract(c, 're') != ''` or `= 'x'`: the expression matches, and the column contains what is extracted.
pub(super) fn of_extract(
    call: &ScalarFunction,
    op: Operator,
    text: Vec<u8>,
    columns: &Columns,
) -> Vec<Implied> {
    let ("extract", [operand, pattern]) = (call.func.name(), call.args.as_slice()) else { return Vec::new() };
    let (Some(column), Some(expression)) = (text_column(operand, columns), text_of(pattern)) else {
        return Vec::new();
    };
    let mut tests = vec![TextTest::Expression(expression)];
    match op {
        Operator::NotEq if text.is_empty() => {}
        Operator::Eq if !text.is_empty() => tests.push(TextTest::Contains(text)),
        _ => return Vec::new(),
    }
    tests.into_iter().map(|test| Implied { column, is_exact: false, test }).collect()
}

/// `editDistance(c, 'x') <= 2`. A distance that a search does not take is left out.
fn of_distance(compared: &ComparedCall<'_>, columns: &Columns) -> Option<Implied> {
    let [left, right] = compared.call.args.as_slice() else { return None };
    let most = match compared.op {
        Operator::Lt => compared.number - 1,
        Operator::LtEq | Operator::Eq => compared.number,
        _ => return None,
    };
    let most = u8::try_from(most).ok()?;
    let (column, text) = match text_column(left, columns) {
        Some(column) => (column, text_of(right)?),
        None => (text_column(right, columns)?, text_of(left)?),
    };
    let holds_for_less = compared.op != Operator::Eq || most == 0;
    let (test, is_exact) = if compared.call.func.name() == "editDistance" {
        (TextTest::ByteDistance { text, most }, holds_for_less)
    } else {
        // The function fails for bytes that are not UTF-8, and counts the bytes of a string next to an empty one.
        (TextTest::CharacterDistance { text: String::from_utf8(text).ok()?, most }, false)
    };
    test.pattern().ok()?;
    Some(Implied { column, is_exact, test })
}

/// The strings of a literal that is an array of them, without NULL.
fn texts_of(expr: &Expr) -> Option<Vec<Vec<u8>>> {
    let Expr::Literal(ScalarValue::List(list), _) = expr else { return None };
    if list.is_null(0) {
        return None;
    }
    let values = list.value(0);
    let texts = values.as_binary_view_opt()?;
    texts.iter().map(|text| text.map(<[u8]>::to_vec)).collect()
}

/// A regular expression for `text` that ignores the case of ASCII letters, and of no other.
fn folded(text: &[u8]) -> Vec<u8> {
    let mut expression = Vec::with_capacity(4 * text.len());
    for &byte in text {
        match byte {
            letter if letter.is_ascii_alphabetic() => {
                expression.extend([b'[', letter.to_ascii_lowercase(), letter.to_ascii_uppercase(), b']']);
            }
            byte if byte.is_ascii() => expression.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
            byte => expression.push(byte),
        }
    }
    expression
}
