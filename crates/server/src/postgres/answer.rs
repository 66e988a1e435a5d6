//! What a session itself answers to a statement.

use basalt_wire::postgres::MessageWriter;

/// The answer of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) tag: String,
    /// The names of columns of texts; none for a command without rows.
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Answer {
    pub(super) fn of_tag(tag: &str) -> Answer {
        Answer { tag: tag.to_owned(), ..Answer::default() }
    }

    /// Appends the rows from `sent` on, at most `rows_max`, and returns how many are sent then.
    pub(super) fn put_rows(&self, sent: usize, rows_max: usize, out: &mut MessageWriter) -> usize {
        let rows = self.rows.iter().skip(sent).take(rows_max);
        let count = rows.len();
        rows.for_each(|row| out.text_row(row.iter().map(String::as_str)));
        sent + count
    }
}
