//! Asks ClickHouse for the expected results of the SQL tests, and writes them into the files.
//!
//! ClickHouse is the Python package `chdb`, installed once into `target/chdb`. Each file of `tests/sql/clickhouse`
//! runs in a new database. Its expectations are never typed by hand; `git diff` after a run shows the changes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::oracle::Oracle;
use crate::slt::{self, Piece};
use crate::terminal::say;

const TESTS: &str = "tests/sql/clickhouse";

/// Records the files whose path contains one of `only`, or all files.
pub(crate) fn run(root: &Path, only: &[String]) -> Result<()> {
    let python = python(root)?;
    let mut files = Vec::new();
    collect(&root.join(TESTS), &mut files)?;
    files.sort();
    files.retain(|path| only.is_empty() || only.iter().any(|part| path.to_string_lossy().contains(part)));
    for path in &files {
        let text = std::fs::read_to_string(path)?;
        let recorded = record(&python, &text).with_context(|| path.display().to_string())?;
        if recorded != text {
            std::fs::write(path, recorded)?;
            say(&format!("recorded {}", path.display()));
        }
    }
    say(&format!("{} files agree with ClickHouse", files.len()));
    Ok(())
}

fn record(python: &Path, text: &str) -> Result<String> {
    let mut oracle = Oracle::start(python)?;
    let mut pieces = Vec::new();
    for piece in slt::parse(text) {
        pieces.push(match &piece {
            Piece::Text(_) => piece,
            Piece::Statement { sql, .. } | Piece::Query { sql, .. } => {
                let answer = oracle.ask(sql).with_context(|| sql.clone())?;
                slt::record(piece, &answer)
            }
        });
    }
    Ok(slt::print(&pieces))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(path);
        }
    }
    Ok(())
}

/// A Python with `chdb`: `BASALT_CHDB_PYTHON`, or one installed below `target`.
pub(crate) fn python(root: &Path) -> Result<PathBuf> {
    if let Some(python) = std::env::var_os("BASALT_CHDB_PYTHON") {
        return Ok(python.into());
    }
    let folder = root.join("target/chdb");
    let python = folder.join("bin/python");
    if !python.exists() {
        say("installing chdb into target/chdb");
        command(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        command(Command::new(&python).args(["-m", "pip", "install", "--quiet", "chdb"]))?;
    }
    Ok(python)
}

fn command(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
