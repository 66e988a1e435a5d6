//! The result of a run, and a file of SQL tests with the statements on which both sides agree.

use std::collections::BTreeMap;

use super::compare::Verdict;
use super::query::Query;
use super::table::Table;
use crate::slt::{self, Answer, Piece};
use crate::terminal::say;

/// The maximum number of printed rows of an answer.
const ROWS_SHOWN: usize = 6;

#[derive(Default)]
pub(crate) struct Report {
    verdicts: BTreeMap<Verdict, usize>,
    /// The CREATE statements that were already printed.
    printed: String,
}

impl Report {
    pub(crate) fn add(
        &mut self,
        verdict: Verdict,
        query: &Query,
        tables: &[Table],
        answers: (&Answer, &Answer),
    ) {
        *self.verdicts.entry(verdict).or_default() += 1;
        if !verdict.is_difference() && verdict != Verdict::OtherError {
            return;
        }
        let tables: Vec<String> = tables.iter().flat_map(Table::statements).collect();
        let tables = tables.join(";\n");
        if tables != self.printed {
            say(&format!("\n{tables};"));
            self.printed = tables;
        }
        say(&format!("\n-- {verdict:?}\n{};", query.sql));
        say(&format!("-- ClickHouse {}\n-- Basalt     {}", shown(answers.0), shown(answers.1)));
    }

    pub(crate) fn asked(&self) -> usize {
        self.verdicts.values().sum()
    }

    pub(crate) fn differences(&self) -> usize {
        self.verdicts.iter().filter(|(verdict, _)| verdict.is_difference()).map(|(_, count)| count).sum()
    }

    pub(crate) fn print(&self, seed: u64) {
        let counts: Vec<String> =
            self.verdicts.iter().map(|(verdict, count)| format!("{verdict:?} {count}")).collect();
        say(&format!("\nseed {seed}: {} statements: {}", self.asked(), counts.join(", ")));
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Error(name) => name.clone(),
        Answer::Rows(rows) => {
            let more = if rows.len() > ROWS_SHOWN {
                format!(" and {} more", rows.len() - ROWS_SHOWN)
            } else {
                String::new()
            };
            format!("{:?}{more}", &rows[..rows.len().min(ROWS_SHOWN)])
        }
    }
}

/// A statement that must succeed, as a record of a test file.
pub(crate) fn statement(sql: &str) -> String {
    slt::print(&[
        Piece::Statement { head: "statement ok".to_owned(), sql: sql.to_owned() },
        Piece::Text(String::new()),
    ])
}

/// A query with its answer, as a record of a test file.
pub(crate) fn record(query: &Query, answer: &Answer) -> String {
    let head = if query.is_ordered { "query T" } else { "query T rowsort" };
    let piece = match answer {
        Answer::Error(_) => Piece::Statement { head: "statement error".to_owned(), sql: query.sql.clone() },
        Answer::Rows(_) => Piece::Query { head: head.to_owned(), sql: query.sql.clone(), rows: Vec::new() },
    };
    // Records with `rowsort` have their rows in sorted order.
    let sorted = match answer {
        Answer::Rows(rows) if !query.is_ordered => {
            let mut rows = rows.clone();
            // In the notation of the file, where an empty row has a name.
            rows.sort_by_key(|row| if row.is_empty() { slt::EMPTY_ROW.to_owned() } else { row.clone() });
            Some(Answer::Rows(rows))
        }
        _ => None,
    };
    slt::print(&[slt::record(piece, sorted.as_ref().unwrap_or(answer)), Piece::Text(String::new())])
}
