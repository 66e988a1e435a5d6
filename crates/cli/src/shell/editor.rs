//! Line editing: history, completion, and entries of several lines.

use std::path::PathBuf;

use basalt_engine::ErrorCode;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::command;
use super::statement_end::{Ending, ending};
use crate::failure::Failure;

const PROMPT: &str = "basalt :) ";
const HISTORY_ENTRIES_MAX: usize = 10_000;
const CANDIDATES_MAX: usize = 200;

/// The result of reading a line.
pub(super) enum Line {
    Text(String),
    /// Ctrl-C.
    Cleared,
    /// Ctrl-D.
    End,
}

pub(super) struct LineEditor {
    editor: Editor<Entry, FileHistory>,
    history: Option<PathBuf>,
}

impl LineEditor {
    /// With `multiline`, Enter runs only terminated statements.
    pub(super) fn open(multiline: bool) -> Result<LineEditor, Failure> {
        let config = Config::builder()
            .max_history_size(HISTORY_ENTRIES_MAX)
            .map_err(|e| no_terminal(&e))?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).map_err(|e| no_terminal(&e))?;
        editor.set_helper(Some(Entry { multiline, names: Vec::new() }));
        let history = history_path();
        if let Some(path) = &history {
            // There is no history before the first use.
            let _ = editor.load_history(path);
        }
        Ok(LineEditor { editor, history })
    }

    /// Replaces the names that the tab key completes.
    pub(super) fn complete_from(&mut self, mut names: Vec<String>) {
        names.sort_unstable();
        names.dedup();
        if let Some(entry) = self.editor.helper_mut() {
            entry.names = names;
        }
    }

    pub(super) fn read(&mut self) -> Result<Line, Failure> {
        match self.editor.readline(PROMPT) {
            Ok(text) => {
                self.remember(&text);
                Ok(Line::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Cleared),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(no_terminal(&error)),
        }
    }

    fn remember(&mut self, text: &str) {
        // Failing to save the history must not stop the work.
        let _ = self.editor.add_history_entry(text);
        if let Some(path) = &self.history {
            let _ = self.editor.append_history(path);
        }
    }
}

/// `BASALT_HISTORY`, or else `.basalt_history` in the home directory.
fn history_path() -> Option<PathBuf> {
    let named = std::env::var_os("BASALT_HISTORY").map(PathBuf::from);
    named.or_else(|| std::env::home_dir().map(|home| home.join(".basalt_history")))
}

fn no_terminal(source: &ReadlineError) -> Failure {
    Failure::with_code(ErrorCode::CannotReadFromFile, format!("the terminal cannot be read: {source}"))
}

/// Callbacks of the editor while the user types.
struct Entry {
    multiline: bool,
    /// Sorted.
    names: Vec<String>,
}

impl Validator for Entry {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let whole = match ending(text) {
            Ending::Terminated => true,
            Ending::Unterminated => !self.multiline || command::is_command(text),
            Ending::Open => false,
        };
        Ok(if whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for Entry {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let begun = &line[..position];
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let start = begun
            .rfind(|c| !is_name(c))
            .map_or(0, |at| at + begun[at..].chars().next().map_or(1, char::len_utf8));
        Ok((start, candidates(&self.names, &begun[start..])))
    }
}

impl Highlighter for Entry {}

impl Hinter for Entry {
    type Hint = String;
}

impl Helper for Entry {}

/// Names that begin with `prefix`, case-insensitively; keywords take the case of the prefix.
fn candidates(names: &[String], prefix: &str) -> Vec<Pair> {
    if prefix.is_empty() {
        return Vec::new();
    }
    let lower = prefix.chars().all(|c| !c.is_uppercase());
    names
        .iter()
        .filter(|name| name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix)))
        .take(CANDIDATES_MAX)
        .map(|name| {
            let is_keyword = name.chars().all(|c| c.is_ascii_uppercase() || c == ' ' || c == '_');
            let text = if is_keyword && lower { name.to_ascii_lowercase() } else { name.clone() };
            Pair { display: text.clone(), replacement: text }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prefix: &str, expected: &[&str]) {
        let names = ["SELECT", "SET", "setting", "toDate"].map(str::to_owned);
        let found: Vec<String> =
            candidates(&names, prefix).into_iter().map(|pair| pair.replacement).collect();
        assert_eq!(found, expected, "{prefix}");
    }

    #[test]
    fn completion_ignores_case_and_keeps_the_typed_one_for_keywords() {
        check("se", &["select", "set", "setting"]);
        check("SE", &["SELECT", "SET", "setting"]);
        check("todate", &["toDate"]);
        check("", &[]);
        check("x", &[]);
    }
}
