//! Circles of files that import each other, compared with the table of those that may.
//!
//! A circle of up to [`FILES_FREE`] files passes. A larger one needs a row in the table `| circle | files | why |` of
//! ARCHITECTURE.md: a folder or file, and how many files of it may form one circle.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::super::complaint::{ARCHITECTURE, Complaint};
use super::graph::{self, Graph};
use crate::terminal::say;

/// Files of a circle that needs no row.
const FILES_FREE: usize = 3;
const HEAD: &str = "| circle | files | why |";

/// A row of the table.
struct Allowed {
    /// `crate/folder`.
    folder: String,
    files_max: usize,
}

pub(super) fn check(graphs: &[Graph], document: &str) -> Result<Vec<Complaint>> {
    let allowed = allowed(document)?;
    let mut used = BTreeSet::new();
    let mut complaints = Vec::new();
    for graph in graphs {
        for circle in graph.circles().into_iter().filter(|circle| circle.len() > FILES_FREE) {
            let row = allowed.iter().position(|row| row.permits(graph, &circle));
            used.extend(row);
            if row.is_none() {
                complaints.push(complaint(graph, &circle));
            }
        }
    }
    for (at, row) in allowed.iter().enumerate().filter(|(at, _)| !used.contains(at)) {
        let what = format!("no circle needs row {at}, `{}`, of the table of circles", row.folder);
        complaints.push(Complaint::warning(ARCHITECTURE, what));
    }
    Ok(complaints)
}

impl Allowed {
    fn permits(&self, graph: &Graph, circle: &[usize]) -> bool {
        circle.len() <= self.files_max
            && circle
                .iter()
                .all(|&file| Path::new(&graph.name).join(&graph.files[file]).starts_with(&self.folder))
    }
}

fn complaint(graph: &Graph, circle: &[usize]) -> Complaint {
    let mut names: Vec<String> =
        circle.iter().take(8).map(|&file| graph.files[file].display().to_string()).collect();
    if circle.len() > names.len() {
        names.push("...".to_owned());
    }
    let what = format!(
        "{} files import each other in a circle: {}; `cargo xtask circles {}` shows how",
        circle.len(),
        names.join(", "),
        graph.name
    );
    Complaint::error(format!("crate `{}`", graph.name), what)
}

fn allowed(document: &str) -> Result<Vec<Allowed>> {
    let mut lines = document.lines().skip_while(|line| !line.starts_with(HEAD));
    if lines.next().is_none() {
        bail!("{ARCHITECTURE} has no table `{HEAD}`");
    }
    let row = |line: &str| -> Result<Allowed> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [folder, files, why] = cells[..] else { bail!("`{line}` has not three cells") };
        if why.is_empty() {
            bail!("`{line}` gives no reason");
        }
        let files_max = files.parse().with_context(|| format!("`{line}`: `{files}` is no number"))?;
        Ok(Allowed { folder: folder.trim_matches('`').to_owned(), files_max })
    };
    lines.skip(1).take_while(|line| line.starts_with('|')).map(row).collect()
}

/// Prints the circles of the crates called `only`, or of all: their files, and which uses which by what name.
pub(crate) fn print(root: &Path, only: &[String]) -> Result<()> {
    for graph in graph::read_all(root)? {
        if !only.is_empty() && !only.contains(&graph.name) {
            continue;
        }
        for circle in graph.circles() {
            say(&text(&graph, &circle, !only.is_empty()));
        }
    }
    Ok(())
}

fn text(graph: &Graph, circle: &[usize], with_edges: bool) -> String {
    let mut text = format!("{}: a circle of {} files", graph.name, circle.len());
    for &file in circle {
        let _ = write!(text, "\n  {}", graph.files[file].display());
        let uses = graph.uses[file].iter().filter(|(other, _)| with_edges && circle.contains(other));
        for (other, name) in uses {
            let _ = write!(text, "\n    -> {}: {name}", graph.files[*other].display());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;

    /// Checks the complaints about a circle of four files, with one row in the table.
    fn check_row(row: &str, expected: &[&str]) {
        let mut files = BTreeMap::from([(PathBuf::from("lib.rs"), "mod a;\n".to_owned())]);
        for (name, next) in [("b", "c"), ("c", "d"), ("d", "e"), ("e", "b")] {
            files.insert(
                format!("a/{name}.rs").into(),
                format!("fn {name}() {{ crate::a::{next}::{next}(); }}\n"),
            );
        }
        files.insert("a/mod.rs".into(), String::new());
        let graph = Graph::parse("x".to_owned(), &files);
        let document = format!("{HEAD}\n|---|---|---|\n{row}\n\nEnd.\n");
        let found: Vec<String> =
            check(&[graph], &document).expect("valid").iter().map(Complaint::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn a_circle_needs_a_row_that_is_large_enough() {
        check_row("| `x/a` | 4 | recursive |", &[]);
        check_row("| `x/a` | 3 | recursive |", &["4 files import each other", "no circle needs"]);
        check_row("| `x/y` | 4 | recursive |", &["4 files import each other", "no circle needs"]);
    }

    #[test]
    fn a_row_without_a_reason_is_refused() {
        assert!(check(&[], &format!("{HEAD}\n|---|---|---|\n| `x` | 4 | |\n")).is_err());
        assert!(check(&[], "").is_err());
    }
}
