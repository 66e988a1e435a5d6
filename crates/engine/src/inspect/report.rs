//! What is printed about a file: facts, tables with aligned columns, and the damage.

use basalt_base::{Error, ErrorCode, Result};

const GAP: &str = "  ";

/// The description of a file, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Lines of text.
    pub report: String,
    /// What is damaged and what to do; `None` if every checksum matched.
    pub damage: Option<String>,
}

/// Lines of a report.
#[derive(Default)]
pub(super) struct Report(String);

impl Report {
    pub(super) fn line(&mut self, line: &str) {
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }

    /// Names and values, one a line.
    pub(super) fn facts(&mut self, facts: &[(&str, String)]) {
        let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        facts.iter().for_each(|(name, value)| self.line(&format!("{name:width$}{GAP}{value}")));
    }

    /// A title, and rows below a row of headings; nothing if there are no rows. The columns of figures are aligned to
    /// the right.
    pub(super) fn table(&mut self, title: &str, headings: &[Heading], rows: &[Vec<String>]) {
        if rows.is_empty() {
            return;
        }
        self.line("");
        self.line(title);
        let names: Vec<String> = headings.iter().map(|heading| heading.name().to_owned()).collect();
        let width = |at: usize| rows.iter().chain([&names]).map(|row| row[at].chars().count()).max();
        let widths: Vec<usize> = (0..headings.len()).map(|at| width(at).unwrap_or(0)).collect();
        for row in [&names].into_iter().chain(rows) {
            let cells =
                row.iter().zip(headings).zip(&widths).map(|((cell, heading), &width)| match heading {
                    Heading::Text(_) => format!("{cell:width$}"),
                    Heading::Figure(_) => format!("{cell:>width$}"),
                });
            self.line(&cells.collect::<Vec<_>>().join(GAP));
        }
    }

    /// The inspection of a file of which everything was verified.
    pub(super) fn intact(mut self, verified: &str) -> Inspection {
        self.line("");
        self.line(verified);
        Inspection { report: self.0, damage: None }
    }

    pub(super) fn damaged(self, damage: String) -> Inspection {
        Inspection { report: self.0, damage: Some(damage) }
    }

    /// The inspection of a file that cannot be opened, if that is for damage. A newer format, or a file that cannot be
    /// read, is an error.
    pub(super) fn refused(self, error: Error, advice: &str) -> Result<Inspection> {
        match error.code() {
            ErrorCode::CorruptedData | ErrorCode::ChecksumDoesntMatch | ErrorCode::FileDoesntExist => {
                Ok(self.damaged(format!("{}\n{advice}", error.message())))
            }
            _ => Err(error),
        }
    }
}

/// The heading of a column.
pub(super) enum Heading {
    Text(&'static str),
    Figure(&'static str),
}

impl Heading {
    fn name(&self) -> &'static str {
        match self {
            Heading::Text(name) | Heading::Figure(name) => name,
        }
    }
}

/// How many times as many bytes there were before encoding.
pub(super) fn ratio(raw: u64, stored: u64) -> String {
    match stored {
        0 => "-".to_owned(),
        stored => format!("{:.2}", raw as f64 / stored as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_aligned_and_empty_tables_are_left_out() {
        let mut report = Report::default();
        report.facts(&[("rows", "7".to_owned()), ("bytes", "1000".to_owned())]);
        let headings = [Heading::Text("name"), Heading::Figure("bytes"), Heading::Text("reason")];
        let row = |name: &str, bytes: &str| vec![name.to_owned(), bytes.to_owned(), String::new()];
        report.table("columns", &headings, &[row("a longer one", "5"), row("b", "123456")]);
        report.table("indexes", &headings, &[]);
        let expected = "rows   7\nbytes  1000\n\ncolumns\nname           bytes  reason\na longer one       5\n\
                        b             123456\n\nverified\n";
        assert_eq!(report.intact("verified"), Inspection { report: expected.to_owned(), damage: None });
    }
}
