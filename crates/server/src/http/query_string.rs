//! The part of a URL after `?`: names and values, percent-decoded to bytes.
//!
//! Values are bytes and not text, because a query may hold string literals in any encoding.

use percent_encoding::percent_decode_str;

/// The pairs of a query string in their order. A name without `=` has an empty value.
pub(super) fn parse(query: &str) -> Vec<(String, Vec<u8>)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (String::from_utf8_lossy(&decode(name)).into_owned(), decode(value))
        })
        .collect()
}

/// `%41` is `A`, `+` is a space; a `%` without two hexadecimal digits after it is an ordinary character.
///
/// `form_urlencoded` decodes the same, but only to valid UTF-8.
fn decode(text: &str) -> Vec<u8> {
    percent_decode_str(&text.replace('+', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, pairs: &[(&str, &[u8])]) {
        let expected: Vec<(String, Vec<u8>)> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
        assert_eq!(parse(query), expected, "{query}");
    }

    #[test]
    fn names_and_values_are_decoded() {
        check("query=SELECT%201&x=a+b", &[("query", b"SELECT 1"), ("x", b"a b")]);
        check("param_a%5B=%ff%00", &[("param_a[", b"\xff\0")]);
    }

    #[test]
    fn broken_escapes_stand_for_themselves() {
        check("a=%&b=%4&c=%zz", &[("a", b"%"), ("b", b"%4"), ("c", b"%zz")]);
    }

    #[test]
    fn missing_parts_are_empty() {
        check("", &[]);
        check("&a&=b&", &[("a", b""), ("", b"b")]);
    }
}
