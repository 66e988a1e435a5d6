//! Differences that docs/dialect.md explains.

use super::query::Query;
use crate::slt::Answer;

/// A difference is explained if the statement has the one text and either answer has the other.
const EXPLAINED: &[(&str, &str)] = &[];

pub(crate) fn is_explained(query: &Query, expected: &Answer, found: &Answer) -> bool {
    let has = |answer: &Answer, text: &str| match answer {
        Answer::Error(name) => name == text,
        Answer::Rows(rows) => rows.iter().any(|row| row.contains(text)),
    };
    EXPLAINED.iter().any(|(sql, text)| query.sql.contains(sql) && (has(expected, text) || has(found, text)))
}
