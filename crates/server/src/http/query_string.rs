//! The part of a URL behind `?`: names and values, percent-decoded to bytes.
//!
//! Values are bytes and not text, because a query may hold string literals in any encoding.

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

/// `%41` is `A`, `+` is a space; a `%` that no two hexadecimal digits follow stands for itself.
fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], hex_pair(&bytes[at + 1..])) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    out
}

fn hex_pair(bytes: &[u8]) -> Option<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let [high, low, ..] = *bytes else { return None };
    Some((digit(high)? * 16 + digit(low)?) as u8)
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
