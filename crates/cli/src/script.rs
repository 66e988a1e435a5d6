//! Statements from the command line, a file or standard input, run to the first error.

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

use basalt_engine::{ErrorCode, Input, Session};

use crate::arguments::StatementOptions;
use crate::connection::{Connection, Statement};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::ProgressLine;
use crate::shell::Shell;

/// Runs the statements in `options`, or a shell if there are none and standard input is a terminal.
pub(crate) fn run(connection: &mut dyn Connection, options: &StatementOptions) -> Result<(), Failure> {
    let format = default_format(options);
    if !options.query.is_empty() || !options.queries_file.is_empty() {
        let mut script = Script::new(connection, options, format, Standard::Data);
        for text in &options.query {
            script.run(text.as_bytes())?;
        }
        for path in &options.queries_file {
            script.run(&read_file(path)?)?;
        }
        return Ok(());
    }
    if io::stdin().is_terminal() {
        return Shell::new(connection, options, format).run();
    }
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(|e| unreadable(Path::new("standard input"), &e))?;
    Script::new(connection, options, format, Standard::Statements).run(&text)
}

fn default_format(options: &StatementOptions) -> String {
    let fitting = if io::stdout().is_terminal() { "PrettyCompact" } else { "TabSeparated" };
    options.format.clone().unwrap_or_else(|| fitting.to_owned())
}

fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(path: &Path, source: &io::Error) -> Failure {
    let code = match source.kind() {
        io::ErrorKind::NotFound => ErrorCode::FileDoesntExist,
        _ => ErrorCode::CannotReadFromFile,
    };
    Failure::with_code(code, format!("{}: {source}", path.display()))
}

/// The contents of standard input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standard {
    Data,
    Statements,
}

struct Script<'a> {
    connection: &'a mut dyn Connection,
    format: String,
    prints_time: bool,
    standard: Standard,
    output: Output,
    progress: ProgressLine,
}

impl<'a> Script<'a> {
    fn new(
        connection: &'a mut dyn Connection,
        options: &StatementOptions,
        format: String,
        standard: Standard,
    ) -> Script<'a> {
        let progress = ProgressLine::new(options.progress);
        Script { connection, format, prints_time: options.time, standard, output: Output::new(), progress }
    }

    fn run(&mut self, text: &[u8]) -> Result<(), Failure> {
        for text in Session::split(text)? {
            let input = match self.standard {
                Standard::Data if wants_input(&text) => Input::Reader(Box::new(io::stdin())),
                _ => Input::None,
            };
            let statement = Statement { text, input, default_format: self.format.clone() };
            let finished = self.connection.run(statement, &mut self.output, &mut self.progress)?;
            if self.prints_time {
                // A closed standard error is no reason to stop.
                let _ = writeln!(io::stderr(), "{:.6}", finished.elapsed.as_secs_f64());
            }
        }
        Ok(())
    }
}

/// Whether `text` is an INSERT that ends where its data should begin. Otherwise standard input is not read: it may
/// never end.
fn wants_input(text: &[u8]) -> bool {
    let is_insert = first_word(text).is_some_and(|word| word.eq_ignore_ascii_case(b"insert"));
    let end = text.trim_ascii_end();
    let end = end.strip_suffix(b";").unwrap_or(end);
    let mut words = end.rsplit(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let (last, before) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    is_insert && (before.eq_ignore_ascii_case(b"format") || last.eq_ignore_ascii_case(b"values"))
}

/// The first word after comments.
fn first_word(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        if rest.starts_with(b"--") {
            rest = after(rest, b"\n")?;
        } else if rest.starts_with(b"/*") {
            rest = after(rest, b"*/")?;
        } else {
            return rest.split(|byte| !byte.is_ascii_alphanumeric()).next();
        }
    }
}

/// The text after the first `mark`.
fn after<'a>(text: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(mark.len()).position(|window| window == mark)?;
    Some(&text[at + mark.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_insert_without_its_data_reads_standard_input() {
        for text in [
            "INSERT INTO t FORMAT CSV",
            "-- load\ninsert into t format TSV ;",
            "/* x */ INSERT INTO t VALUES",
        ] {
            assert!(wants_input(text.as_bytes()), "{text}");
        }
        for text in ["INSERT INTO t VALUES (1)", "SELECT 1 FORMAT CSV", "INSERT INTO t SELECT 1", "", "--"] {
            assert!(!wants_input(text.as_bytes()), "{text}");
        }
    }
}
