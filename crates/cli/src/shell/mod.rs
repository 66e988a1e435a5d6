//! An interactive shell.
//!
//! An error is printed, and the shell continues. Ctrl-C clears the line or ends the running statement; Ctrl-D, `exit`
//! and `quit` leave.

mod command;
mod editor;
mod statement_end;

use basalt_engine::{Input, Session, VERSION};

use self::command::Entered;
use self::editor::{Line, LineEditor};
use crate::arguments::StatementOptions;
use crate::connection::{Connection, Statement};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::ProgressLine;
use crate::report;

pub(crate) struct Shell<'a> {
    connection: &'a mut dyn Connection,
    format: String,
    multiline: bool,
    prints_time: bool,
    output: Output,
    progress: ProgressLine,
}

impl<'a> Shell<'a> {
    pub(crate) fn new(
        connection: &'a mut dyn Connection,
        options: &StatementOptions,
        format: String,
    ) -> Shell<'a> {
        Shell {
            connection,
            format,
            multiline: options.multiline,
            prints_time: options.time,
            output: Output::new(),
            progress: ProgressLine::new(options.progress),
        }
    }

    /// Reads and runs statements until the user leaves.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let mut editor = LineEditor::open(self.multiline)?;
        editor.complete_from(self.connection.completions());
        self.output.line(&format!("Basalt {VERSION}. Statements end with `;`, `help` shows more.\n"))?;
        loop {
            let text = match editor.read()? {
                Line::Text(text) => text,
                Line::Cleared => continue,
                Line::End => break,
            };
            match command::read(&text) {
                Entered::Nothing => {}
                Entered::Leave => break,
                Entered::Help => self.output.line(command::HELP)?,
                Entered::Statements { text, vertical } => {
                    self.run_all(text.as_bytes(), vertical)?;
                    if changes_names(&text) {
                        editor.complete_from(self.connection.completions());
                    }
                }
            }
        }
        self.output.line("Bye.")
    }

    /// Runs the statements of `text` up to one that fails. Returns an error only if the terminal is gone.
    fn run_all(&mut self, text: &[u8], vertical: bool) -> Result<(), Failure> {
        let statements = match Session::split(text) {
            Ok(statements) => statements,
            Err(error) => return self.tell(&error.into()),
        };
        for text in statements {
            let default_format = if vertical { "Vertical" } else { &self.format };
            let statement = Statement { text, input: Input::None, default_format: default_format.to_owned() };
            match self.connection.run(statement, &mut self.output, &mut self.progress) {
                Ok(finished) => {
                    let ok = if finished.has_rows { "" } else { "Ok.\n" };
                    let rows = report::summary(&finished);
                    let time = match self.prints_time {
                        true => format!("\n{:.6}", finished.elapsed.as_secs_f64()),
                        false => String::new(),
                    };
                    self.output.line(&format!("{ok}\n{rows}{time}\n"))?;
                }
                Err(failure) => return self.tell(&failure),
            }
        }
        Ok(())
    }

    fn tell(&mut self, failure: &Failure) -> Result<(), Failure> {
        if failure.is_silent() {
            return Err(failure.clone());
        }
        failure.print();
        self.output.line("")
    }
}

/// Whether the statement may change the names to complete.
fn changes_names(text: &str) -> bool {
    let word = text.split_ascii_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    matches!(word.as_str(), "CREATE" | "DROP" | "RENAME" | "ALTER" | "USE" | "ATTACH" | "DETACH")
}
