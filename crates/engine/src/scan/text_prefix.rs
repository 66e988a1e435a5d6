//! The beginning that `LIKE 'p%'` and `startsWith` demand of a string, as a range of values.

use datafusion::common::ScalarValue;

use super::compared_call::ComparedCall;
use super::condition::{Condition, ValueSet, bytes, literal, typed};
use super::operand::Operands;

/// The condition that follows from the call that is compared.
pub(super) fn of_call(compared: &ComparedCall<'_>, operands: Operands<'_>) -> Option<Condition> {
    // Other strings have the result 0.
    if compared.holds(0) {
        return None;
    }
    let [operand, text] = compared.call.args.as_slice() else { return None };
    let (subject, text) = (operands.find(operand)?, bytes(literal(text)?)?);
    let prefix = match compared.call.func.name() {
        "startsWith" => text,
        "like" => prefix_of_like(&text),
        _ => return None,
    };
    if prefix.is_empty() {
        return None;
    }
    let value = |bytes: Vec<u8>| typed(&ScalarValue::BinaryView(Some(bytes)), subject, operands);
    let high = match after_all_with(&prefix) {
        Some(high) => Some((value(high)?, false)),
        None => None,
    };
    Some(Condition { subject, values: ValueSet::Range { low: Some((value(prefix)?, true)), high } })
}

/// The bytes before the first wildcard of a pattern.
fn prefix_of_like(pattern: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::new();
    let mut rest = pattern.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'%' | b'_' => break,
            b'\\' => match rest.next() {
                Some(&escaped @ (b'%' | b'_' | b'\\')) => prefix.push(escaped),
                // What the backslash means here is for the function to say.
                _ => break,
            },
            byte => prefix.push(byte),
        }
    }
    prefix
}

/// The first string after all that begin with `prefix`; `None` if there is none.
fn after_all_with(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut after = prefix.to_vec();
    while let Some(last) = after.pop() {
        if last < u8::MAX {
            after.push(last + 1);
            return Some(after);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_of_a_pattern_ends_at_its_first_wildcard() {
        let check = |pattern: &str, prefix: &str| {
            assert_eq!(prefix_of_like(pattern.as_bytes()), prefix.as_bytes(), "{pattern}");
        };
        check("abc%", "abc");
        check("a_c", "a");
        check("abc", "abc");
        check("%a", "");
        check(r"a\%b%c", "a%b");
        check(r"a\\%", r"a\");
        check(r"a\b%", "a");
        check(r"a\", "a");
    }

    #[test]
    fn strings_after_a_prefix_begin_with_its_successor() {
        assert_eq!(after_all_with(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(after_all_with(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(after_all_with(b"\xff"), None);
    }
}
