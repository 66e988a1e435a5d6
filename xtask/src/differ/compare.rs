//! Compares two answers to one statement.

use super::query::Query;
use crate::slt::Answer;

/// Floats may differ by this fraction: sums of floats depend on the order of rows.
const FLOAT_ERROR: f64 = 1e-9;

/// Errors of features that Basalt does not have.
const NOT_BUILT: &[&str] = &[
    "NOT_IMPLEMENTED",
    "UNKNOWN_FUNCTION",
    "UNKNOWN_AGGREGATE_FUNCTION",
    "UNKNOWN_SETTING",
    "UNKNOWN_TYPE",
    "UNKNOWN_FORMAT",
    "UNKNOWN_STORAGE",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Same,
    /// Both fail, with different error codes.
    OtherError,
    NotBuilt,
    Explained,
    OtherRows,
    /// Basalt fails, ClickHouse answers.
    Fails,
    /// Basalt answers, ClickHouse fails.
    NoError,
}

impl Verdict {
    pub(crate) fn is_difference(self) -> bool {
        matches!(self, Verdict::OtherRows | Verdict::Fails | Verdict::NoError)
    }
}

pub(crate) fn compare(query: &Query, expected: &Answer, found: &Answer) -> Verdict {
    match (expected, found) {
        (Answer::Rows(expected), Answer::Rows(found)) => compare_rows(query, expected, found),
        (Answer::Error(expected), Answer::Error(found)) if expected == found => Verdict::Same,
        (_, Answer::Error(found)) if NOT_BUILT.contains(&found.as_str()) => Verdict::NotBuilt,
        (Answer::Error(_), Answer::Error(_)) => Verdict::OtherError,
        (Answer::Rows(_), Answer::Error(_)) => Verdict::Fails,
        (Answer::Error(_), Answer::Rows(_)) => Verdict::NoError,
    }
}

fn compare_rows(query: &Query, expected: &[String], found: &[String]) -> Verdict {
    let (mut expected, mut found) = (expected.to_vec(), found.to_vec());
    if !query.is_ordered {
        expected.sort();
        found.sort();
    }
    let is_same =
        expected.len() == found.len() && expected.iter().zip(&found).all(|(a, b)| is_same_row(a, b));
    if is_same { Verdict::Same } else { Verdict::OtherRows }
}

/// Whether the texts are equal, except for the order of rows if the statement does not define it.
pub(crate) fn is_exact(query: &Query, expected: &Answer, found: &Answer) -> bool {
    let sorted = |answer: &Answer| match answer {
        Answer::Error(name) => vec![name.clone()],
        Answer::Rows(rows) if query.is_ordered => rows.clone(),
        Answer::Rows(rows) => {
            let mut rows = rows.clone();
            rows.sort();
            rows
        }
    };
    sorted(expected) == sorted(found)
}

fn is_same_row(expected: &str, found: &str) -> bool {
    if expected == found {
        return true;
    }
    let (expected, found): (Vec<&str>, Vec<&str>) =
        (expected.split('\t').collect(), found.split('\t').collect());
    expected.len() == found.len() && expected.iter().zip(&found).all(|(a, b)| a == b || is_same_float(a, b))
}

fn is_same_float(expected: &str, found: &str) -> bool {
    let is_float = |text: &str| text.contains(['.', 'e']);
    match (expected.parse::<f64>(), found.parse::<f64>()) {
        (Ok(a), Ok(b)) if is_float(expected) || is_float(found) => {
            (a - b).abs() <= FLOAT_ERROR * a.abs().max(b.abs())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str]) -> Answer {
        Answer::Rows(rows.iter().map(|row| (*row).to_owned()).collect())
    }

    #[test]
    fn order_counts_only_where_the_statement_fixes_it() {
        let mut query = Query { sql: String::new(), is_ordered: true };
        assert_eq!(compare(&query, &rows(&["1", "2"]), &rows(&["2", "1"])), Verdict::OtherRows);
        query.is_ordered = false;
        assert_eq!(compare(&query, &rows(&["1", "2"]), &rows(&["2", "1"])), Verdict::Same);
    }

    #[test]
    fn last_digits_of_floats_are_forgiven_and_whole_numbers_are_not() {
        let query = Query { sql: String::new(), is_ordered: true };
        assert_eq!(compare(&query, &rows(&["0.1"]), &rows(&["0.10000000000000002"])), Verdict::Same);
        assert_eq!(
            compare(&query, &rows(&["9223372036854775807"]), &rows(&["9223372036854775806"])),
            Verdict::OtherRows
        );
    }

    #[test]
    fn error_of_one_side_is_a_difference_unless_something_is_not_built() {
        let query = Query { sql: String::new(), is_ordered: true };
        let error = |name: &str| Answer::Error(name.to_owned());
        assert_eq!(compare(&query, &rows(&[]), &error("DECIMAL_OVERFLOW")), Verdict::Fails);
        assert_eq!(compare(&query, &rows(&[]), &error("NOT_IMPLEMENTED")), Verdict::NotBuilt);
        assert_eq!(compare(&query, &error("DECIMAL_OVERFLOW"), &rows(&[])), Verdict::NoError);
        assert_eq!(compare(&query, &error("A"), &error("B")), Verdict::OtherError);
    }
}
