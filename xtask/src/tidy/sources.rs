//! The first line, size and characters of each source file, the size of each function.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::code::{blank, functions, without_tests};
use super::complaint::Complaint;
use crate::checkout::has_extension;

const FILE_LINES_GOOD: usize = 300;
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

/// Words with which no doc comment may begin: it would be a fragment whose subject is elsewhere.
const FRAGMENTS: [&str; 3] = ["Of ", "Who ", "That "];

/// Words that mark unfinished work, or the author's workplace.
const FORBIDDEN: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/wo", "rk/"),
];

pub(super) fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for path in files {
        let is_source =
            ["rs", "sh", "py", "toml", "yml"].iter().any(|extension| has_extension(path, extension));
        if !is_source && !path.starts_with("scripts") && !path.starts_with("bench") {
            continue;
        }
        let full = root.join(path);
        let Ok(text) = std::fs::read_to_string(&full) else {
            let bytes = std::fs::read(&full).with_context(|| full.display().to_string())?;
            complaints.push(Complaint::error(
                path.display().to_string(),
                format!("{} bytes that are not UTF-8", bytes.len()),
            ));
            continue;
        };
        complaints.extend(check_words(path, &text));
        if has_extension(path, "rs") {
            complaints.extend(check_rust(path, &text));
            complaints.extend(check_docs(path, &text));
        }
    }
    Ok(complaints)
}

fn check_words(path: &Path, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let place = || format!("{}:{line}", path.display());
        if has_extension(path, "rs") && !content.is_ascii() {
            complaints.push(Complaint::error(place(), "a character that is not ASCII; write an escape"));
        }
        if let Some(word) = FORBIDDEN.iter().find(|word| content.contains(**word)) {
            complaints.push(Complaint::error(place(), format!("`{word}` does not belong here")));
        }
    }
    complaints
}

fn check_rust(path: &Path, text: &str) -> Vec<Complaint> {
    let place = path.display().to_string();
    let mut complaints = Vec::new();
    if !text.starts_with("//!") {
        complaints.push(Complaint::error(&place, "the first line is not `//!` and what this file is"));
    }
    if is_test(path) {
        return complaints;
    }
    let code = without_tests(text);
    match code.lines().count() {
        lines if lines > FILE_LINES_MAX => {
            complaints.push(Complaint::error(
                &place,
                format!("{lines} lines without tests, at most {FILE_LINES_MAX}"),
            ));
        }
        lines if lines > FILE_LINES_GOOD => {
            complaints
                .push(Complaint::warning(&place, format!("{lines} lines; {FILE_LINES_GOOD} read better")));
        }
        _ => {}
    }
    for function in functions(&blank(code)) {
        if function.lines > FUNCTION_LINES_MAX {
            let what =
                format!("`{}` has {} lines, at most {FUNCTION_LINES_MAX}", function.name, function.lines);
            complaints.push(Complaint::error(format!("{place}:{}", function.line), what));
        }
    }
    complaints
}

fn check_docs(path: &Path, text: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut before = None;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim_start();
        let marker = ["///", "//!"].into_iter().find(|marker| content.starts_with(marker));
        let begins = |word: &&&str| marker.is_some() && content[3..].trim_start().starts_with(**word);
        if let Some(word) = FRAGMENTS.iter().find(begins).filter(|_| marker != before) {
            let what = format!("a doc comment begins with `{}`; begin with the subject", word.trim_end());
            complaints.push(Complaint::warning(format!("{}:{line}", path.display()), what));
        }
        before = marker;
    }
    complaints
}

/// Tests may be long: each one reads alone.
fn is_test(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "tests")
        || path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "itest")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let path = Path::new("crates/x/src/y.rs");
        let mut found = check_rust(path, text);
        found.extend(check_words(path, text));
        found.extend(check_docs(path, text));
        let found: Vec<String> = found.iter().map(Complaint::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn rules_of_a_source_file_are_checked() {
        check("//! Good.\nfn a() {}\n", &[]);
        check("fn a() {}\n", &["first line"]);
        check("//! Caf\u{e9}.\n", &["not ASCII"]);
        check(&format!("//! x\nfn a() {{\n{}}}\n", "\n".repeat(70)), &["`a` has 72 lines"]);
        check(&format!("//! x\n{}", "\n".repeat(600)), &["601 lines without tests"]);
        check(&format!("//! x\n// {}\n", FORBIDDEN[0]), &["does not belong"]);
    }

    #[test]
    fn doc_comments_begin_with_their_subject() {
        check("//! Good.\n/// Of a table.\nstruct A;\n", &["begins with `Of`"]);
        check("//! Good.\n/// The rows\n/// Of a table.\n// Of a table.\nstruct A;\n", &[]);
    }

    #[test]
    fn tests_may_be_long() {
        let tests = format!("//! x\n#[cfg(test)]\nmod tests {{\nfn a() {{\n{}}}\n}}\n", "\n".repeat(700));
        check(&tests, &[]);
    }
}
