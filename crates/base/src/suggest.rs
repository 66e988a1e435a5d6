//! "Did you mean": the known name nearest to one that is not known.

/// Longer names get no suggestion: the work is quadratic in the length, and such a name is not a typing error.
const NAME_BYTES_MAX: usize = 64;

/// The nearest candidate within two edits of `name` (one for names of up to four letters). A difference in case
/// alone always qualifies. `None` if nothing is near.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let length = name.chars().count();
    let limit = if length <= 4 { 1 } else { 2 };
    candidates
        .into_iter()
        .filter(|candidate| {
            candidate.len() <= NAME_BYTES_MAX && candidate.chars().count().abs_diff(length) <= limit
        })
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(edits, _)| edits <= limit)
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean ...?`, or nothing: the tail of an error message about an unknown name.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// The case-insensitive edit distance, with swaps of neighbours counted once (optimal string alignment).
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut row = vec![i; right.len() + 1];
        for j in 1..=right.len() {
            let same = left[i - 1] == right[j - 1];
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + usize::from(!same));
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_swap_and_a_change_of_case() {
        assert_eq!(nearest("prcie", ["size", "price"]), Some("price"));
        assert_eq!(nearest("url", ["URL", "UserID"]), Some("URL"));
    }

    #[test]
    fn finds_nothing_far_away() {
        assert_eq!(nearest("price", ["weight", "colour"]), None);
        assert_eq!(nearest("a", ["bcd"]), None);
    }

    #[test]
    fn a_long_name_is_not_compared() {
        let (at_most, longer) = ("x".repeat(NAME_BYTES_MAX), "x".repeat(NAME_BYTES_MAX + 1));
        assert_eq!(nearest(&at_most, [at_most.as_str()]), Some(at_most.as_str()));
        assert_eq!(nearest(&longer, [longer.as_str()]), None);
        assert_eq!(nearest(&at_most, [longer.as_str()]), None);
    }
}
