//! Files of SQL tests (`.slt`), parsed as far as recording needs.
//!
//! ```text
//! # a comment
//! statement ok            statement error UNKNOWN_TABLE
//! CREATE TABLE ..         SELECT ..
//!
//! query T
//! SELECT ..
//! ----
//! one line a row, as TabSeparated writes it
//! ```
//!
//! A record ends at an empty line. An empty row is written as [`EMPTY_ROW`].

/// Represents a row with empty text, which a test file could not distinguish from the end of the record.
pub(crate) const EMPTY_ROW: &str = "(empty)";

/// One piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Comments and empty lines, unchanged.
    Text(String),
    Statement {
        head: String,
        sql: String,
    },
    Query {
        head: String,
        sql: String,
        rows: Vec<String>,
    },
}

/// ClickHouse's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Rows(Vec<String>),
    /// The name of the error code.
    Error(String),
}

pub(crate) fn parse(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with("statement") && !line.starts_with("query") {
            pieces.push(Piece::Text(line.to_owned()));
            continue;
        }
        let mut body = Vec::new();
        while let Some(next) = lines.next_if(|next| !next.is_empty()) {
            body.push(next);
        }
        let head = line.to_owned();
        let end = body.iter().position(|line| *line == "----").unwrap_or(body.len());
        let sql = body[..end].join("\n");
        let rows = body.iter().skip(end + 1).map(|row| (*row).to_owned()).collect();
        pieces.push(match head.starts_with("query") {
            true => Piece::Query { head, sql, rows },
            false => Piece::Statement { head, sql },
        });
    }
    pieces
}

pub(crate) fn print(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(line) => out.push_str(line),
            Piece::Statement { head, sql } => out.push_str(&format!("{head}\n{sql}")),
            Piece::Query { head, sql, rows } => {
                out.push_str(&format!("{head}\n{sql}\n----"));
                for row in rows {
                    out.push('\n');
                    out.push_str(row);
                }
            }
        }
        out.push('\n');
    }
    out
}

/// The same piece with `answer`; a query that fails becomes a `statement error`.
pub(crate) fn record(piece: Piece, answer: &Answer) -> Piece {
    match (piece, answer) {
        (Piece::Query { head, sql, .. }, Answer::Rows(rows)) => {
            let visible = |row: &String| if row.is_empty() { EMPTY_ROW.to_owned() } else { row.clone() };
            Piece::Query { head, sql, rows: rows.iter().map(visible).collect() }
        }
        (Piece::Query { sql, .. } | Piece::Statement { sql, .. }, Answer::Error(name)) => {
            Piece::Statement { head: format!("statement error {name}"), sql }
        }
        (Piece::Statement { sql, .. }, Answer::Rows(_)) => {
            Piece::Statement { head: "statement ok".to_owned(), sql }
        }
        (text @ Piece::Text(_), _) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# about\n\nstatement ok\nCREATE TABLE t (a Int8)\n\nquery T\nSELECT 1,\n 2\n----\n1\t2\n\n";

    #[test]
    fn printing_what_was_parsed_changes_nothing() {
        assert_eq!(print(&parse(TEXT)), TEXT);
    }

    #[test]
    fn answers_replace_what_was_expected() {
        let query = Piece::Query { head: "query T".to_owned(), sql: "SELECT ''".to_owned(), rows: vec![] };
        let recorded = record(query.clone(), &Answer::Rows(vec![String::new()]));
        assert_eq!(print(&[recorded]), "query T\nSELECT ''\n----\n(empty)\n");
        let failed = record(query, &Answer::Error("UNKNOWN_TABLE".to_owned()));
        assert_eq!(print(&[failed]), "statement error UNKNOWN_TABLE\nSELECT ''\n");
    }
}
