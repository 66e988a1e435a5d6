//! Converts a value in the text form of another database to the form of its type here.

use std::borrow::Cow;

use basalt_base::SqlType;
use basalt_formats::text::write_quoted;

/// `text` in the form that `ty`, without Nullable and LowCardinality, is parsed from.
pub(super) fn plain<'a>(text: &'a [u8], ty: &SqlType) -> Cow<'a, [u8]> {
    match ty {
        SqlType::Array(_) => match postgresql_array(text) {
            Some(list) => Cow::Owned(quoted_list(list, ty)),
            None => Cow::Borrowed(text),
        },
        _ => Cow::Borrowed(plain_scalar(text, ty)),
    }
}

fn plain_scalar<'a>(text: &'a [u8], ty: &SqlType) -> &'a [u8] {
    match (text, ty) {
        (b"t", ty) if ty.is_number() => b"1",
        (b"f", ty) if ty.is_number() => b"0",
        // The connection's zone is UTC.
        (text, SqlType::DateTime(_) | SqlType::DateTime64 { .. }) => {
            text.strip_suffix(b"+00").unwrap_or(text)
        }
        (text, _) => text,
    }
}

/// The braces of a PostgreSQL array and what is between them: `{1,2}`, or `[0:1]={1,2}` if its first index is not 1.
fn postgresql_array(text: &[u8]) -> Option<&[u8]> {
    match text.first()? {
        b'{' => Some(text),
        b'[' => {
            let equals = text.iter().position(|&byte| byte == b'=')?;
            let bounds = text[..equals].iter().all(|byte| b"[]:-+0123456789".contains(byte));
            Some(&text[equals + 1..]).filter(|rest| bounds && rest.first() == Some(&b'{'))
        }
        _ => None,
    }
}

/// The array in brackets, with quoted elements if their type needs quotes. What is no array becomes a text that is no
/// array either.
fn quoted_list(list: &[u8], ty: &SqlType) -> Vec<u8> {
    let leaf = leaf(ty);
    let mut out = Vec::with_capacity(list.len() + 2);
    let mut at = 0;
    while let Some(&byte) = list.get(at) {
        at += 1;
        match byte {
            b'{' => out.push(b'['),
            b'}' => out.push(b']'),
            b',' => out.push(b','),
            b'"' => {
                let (element, end) = quoted_element(list, at);
                at = end;
                write_element(&element, leaf, &mut out);
            }
            _ => {
                let rest = &list[at - 1..];
                let bytes = rest.iter().position(|byte| b",{}".contains(byte)).unwrap_or(rest.len());
                at += bytes - 1;
                match &rest[..bytes] {
                    element if element.eq_ignore_ascii_case(b"NULL") => out.extend_from_slice(b"NULL"),
                    element => write_element(element, leaf, &mut out),
                }
            }
        }
    }
    out
}

/// An element whose quote is before `at`, and where the text continues after it.
fn quoted_element(list: &[u8], mut at: usize) -> (Vec<u8>, usize) {
    let mut element = Vec::new();
    while let Some(&byte) = list.get(at) {
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => {
                element.extend(list.get(at));
                at += 1;
            }
            byte => element.push(byte),
        }
    }
    (element, at)
}

fn write_element(element: &[u8], leaf: &SqlType, out: &mut Vec<u8>) {
    let element = plain_scalar(element, leaf);
    if leaf.is_number() {
        out.extend_from_slice(element);
    } else {
        write_quoted(element, out);
    }
}

/// The type of the elements in the innermost arrays.
fn leaf(mut ty: &SqlType) -> &SqlType {
    while let SqlType::Array(element) = ty {
        ty = element.stripped();
    }
    ty
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, ty: &SqlType, expected: &str) {
        let plain = plain(text.as_bytes(), ty);
        assert_eq!(String::from_utf8_lossy(&plain), expected, "{text}");
    }

    #[test]
    fn arrays_of_postgresql_become_ours() {
        let strings = SqlType::array_of(SqlType::String.into_nullable());
        check(
            r#"{"a,b","c\"d","e\\f",it's,"",NULL,"NULL",h}"#,
            &strings,
            r#"['a,b','c"d','e\\f','it\'s','',NULL,'NULL','h']"#,
        );
        check("{}", &strings, "[]");
        check("[0:1]={a,b}", &strings, "['a','b']");
        // Brackets are kept.
        check("['a=b']", &strings, "['a=b']");
        check("['a']={", &strings, "['a']={");
        let numbers = SqlType::array_of(SqlType::array_of(SqlType::Int32));
        check("{{1,-2},{t,NULL}}", &numbers, "[[1,-2],[1,NULL]]");
        check("{1}", &SqlType::Int32, "{1}");
    }

    #[test]
    fn damaged_arrays_are_texts_without_a_panic() {
        let strings = SqlType::array_of(SqlType::String);
        let text = br#"[0:1]={"a\"b",{c},NULL}"#;
        for end in 0..text.len() {
            let _ = plain(&text[..end], &strings);
        }
        for bit in 0..text.len() * 8 {
            let mut damaged = text.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = plain(&damaged, &strings);
        }
    }
}
