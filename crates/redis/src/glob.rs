//! Patterns of KEYS and SCAN: `*`, `?`, `[a-z]`, `[^a]`, and a backslash before a character that is meant itself.

/// Whether all of `text` matches. The time is at most the product of both lengths: only the last star is tried again.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    let mut again: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', rest @ ..] = pattern {
            pattern = rest;
            again = Some((pattern, text));
            continue;
        }
        let step = match (pattern, text) {
            ([], []) => return true,
            ([], _) => None,
            (_, []) => return false,
            (_, [byte, rest @ ..]) => one(pattern, *byte).map(|after| (after, rest)),
        };
        match (step, again) {
            (Some((after, rest)), _) => (pattern, text) = (after, rest),
            (None, Some((after, [_, rest @ ..]))) => {
                again = Some((after, rest));
                (pattern, text) = (after, rest);
            }
            (None, _) => return false,
        }
    }
}

/// The pattern after its first element, if that matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => {
            let (found, rest) = class(rest, byte);
            found.then_some(rest)
        }
        [b'\\', literal, rest @ ..] => (*literal == byte).then_some(rest),
        [literal, rest @ ..] => (*literal == byte).then_some(rest),
        [] => None,
    }
}

/// Whether `byte` is in the class, and the pattern after it. A class without an end reaches to the end of the pattern.
fn class(pattern: &[u8], byte: u8) -> (bool, &[u8]) {
    let (negated, mut rest) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        _ => (false, pattern),
    };
    let mut found = false;
    loop {
        rest = match rest {
            [] => return (found != negated, rest),
            [b']', after @ ..] => return (found != negated, after),
            [b'\\', literal, after @ ..] => {
                found |= *literal == byte;
                after
            }
            [from, b'-', to, after @ ..] => {
                let (low, high) = if from <= to { (*from, *to) } else { (*to, *from) };
                found |= (low..=high).contains(&byte);
                after
            }
            [literal, after @ ..] => {
                found |= *literal == byte;
                after
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_redis() {
        let yes = ["", "*", "a*c", "a?c", "a[b-d]c", "a[^x]c", "a\\bc", "***c", "abc", "a[d-a]c"];
        yes[1..].iter().for_each(|pattern| assert!(matches(pattern.as_bytes(), b"abc"), "{pattern}"));
        let no = ["", "ab", "abcd", "a[^b]c", "?", "a[xy]c", "*b", "a\\*c"];
        no.iter().for_each(|pattern| assert!(!matches(pattern.as_bytes(), b"abc"), "{pattern}"));
        assert!(matches(b"", b"") && matches(b"a[b", b"ab") && matches(b"a\\*", b"a*"));
        let (pattern, text) = ("a*".repeat(200) + "b", "a".repeat(10_000));
        assert!(!matches(pattern.as_bytes(), text.as_bytes()));
    }
}
