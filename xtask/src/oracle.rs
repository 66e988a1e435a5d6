//! ClickHouse in a Python process, with one JSON line per statement and per answer.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::slt::Answer;

const PROGRAM: &str = include_str!("oracle.py");

pub(crate) struct Oracle {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
struct Line {
    rows: Option<Vec<String>>,
    error: Option<String>,
}

impl Oracle {
    /// An empty database; the time zone is UTC.
    pub(crate) fn start(python: &Path) -> Result<Oracle> {
        let mut process = Command::new(python)
            .args(["-c", PROGRAM])
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| python.display().to_string())?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let answers = BufReader::new(stdout.context("standard output is piped")?);
        Ok(Oracle { process, questions: stdin, answers })
    }

    pub(crate) fn ask(&mut self, sql: &str) -> Result<Answer> {
        let questions = self.questions.as_mut().context("the Python process was stopped")?;
        writeln!(questions, "{}", serde_json::to_string(sql)?)?;
        questions.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("the Python process ended");
        }
        match serde_json::from_str(&line).with_context(|| line.clone())? {
            Line { rows: Some(rows), .. } => Ok(Answer::Rows(rows)),
            Line { error: Some(error), .. } => Ok(Answer::Error(code_name(&error)?.to_owned())),
            Line { .. } => bail!("neither rows nor an error: {line}"),
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // The process ends when its input does. An error at the end does not matter.
        drop(self.questions.take());
        let _ = self.process.wait();
    }
}

/// The name `UNKNOWN_TABLE` in `Code: 60. DB::Exception: ... (UNKNOWN_TABLE)`.
pub(crate) fn code_name(error: &str) -> Result<&str> {
    let names = error.split('(').skip(1).filter_map(|rest| rest.split_once(')')).map(|(name, _)| name);
    let is_name = |name: &&str| {
        name.len() > 2 && name.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_')
    };
    names.filter(is_name).last().with_context(|| format!("no code in: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_code_is_the_last_one_in_brackets() {
        let error = "Code: 60. DB::Exception: table (X) is unknown (or not). (UNKNOWN_TABLE) (version 1)";
        assert_eq!(code_name(error).expect("has one"), "UNKNOWN_TABLE");
        assert!(code_name("no code (at all)").is_err());
    }
}
