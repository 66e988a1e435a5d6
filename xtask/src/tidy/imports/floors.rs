//! The order of the folders of a crate, by the tables `| floor of CRATE | what is there |` in ARCHITECTURE.md.
//!
//! Rows go from the top to the bottom. The first cell names the folders and files of a floor; `scan/source.rs` may be
//! on another floor than `scan`. A file may use its own folder and lower floors. The root of the crate may use
//! everything.

use std::path::Path;

use anyhow::{Context, Result};

use super::super::complaint::{ARCHITECTURE, Complaint};
use super::graph::Graph;

const HEAD: &str = "| floor of ";

/// A folder or file, and its floor: 0 is the top.
struct Place {
    path: String,
    floor: usize,
}

pub(super) fn check(graphs: &[Graph], document: &str) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.by_ref().find(|line| line.starts_with(HEAD)) {
        let name = line[HEAD.len()..].split('|').next().unwrap_or_default().trim();
        let graph = graphs.iter().find(|graph| graph.name == name);
        let graph = graph.with_context(|| format!("there is no crate `{name}`"))?;
        let rows = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
        complaints.extend(compare(graph, &places(rows)));
    }
    Ok(complaints)
}

fn places<'a>(rows: impl Iterator<Item = &'a str>) -> Vec<Place> {
    let mut places = Vec::new();
    for (floor, row) in rows.enumerate() {
        let cell = row.trim_matches('|').split('|').next().unwrap_or_default();
        let names = cell.split(',').map(|name| name.trim().trim_matches('`')).filter(|name| !name.is_empty());
        places.extend(names.map(|name| Place { path: name.to_owned(), floor }));
    }
    places
}

fn compare(graph: &Graph, places: &[Place]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for place in places.iter().filter(|place| !graph.files.iter().any(|file| file.starts_with(&place.path))) {
        let what = format!("crate `{}` has nothing called `{}`", graph.name, place.path);
        complaints.push(Complaint::error(ARCHITECTURE, what));
    }
    for (file, uses) in graph.files.iter().zip(&graph.uses) {
        if file == Path::new("lib.rs") {
            continue;
        }
        let Some(from) = place_of(places, file) else {
            let what = format!("is on no floor of crate `{}` in {ARCHITECTURE}", graph.name);
            complaints.push(Complaint::error(file.display().to_string(), what));
            continue;
        };
        for (other, name) in uses {
            let other = &graph.files[*other];
            let Some(to) = place_of(places, other) else { continue };
            if from.path != to.path && from.floor >= to.floor {
                let (from, to) = (&from.path, &to.path);
                let what = format!("uses `{name}` of {}, but `{to}` is not below `{from}`", other.display());
                complaints.push(Complaint::error(format!("{}/{}", graph.name, file.display()), what));
            }
        }
    }
    complaints
}

/// The narrowest place that has the file.
fn place_of<'a>(places: &'a [Place], file: &Path) -> Option<&'a Place> {
    places.iter().filter(|place| file.starts_with(&place.path)).max_by_key(|place| place.path.len())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn check_rows(rows: &str, expected: &[&str]) {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nuse a::A;\n"),
            ("a/mod.rs", "pub(crate) mod low;\npub(crate) struct A;\nuse crate::b::B;\n"),
            ("a/low.rs", "pub(crate) struct Low;\n"),
            ("b.rs", "pub(crate) struct B;\nuse crate::a::low::Low;\n"),
        ];
        let files = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        let graph = Graph::parse("x".to_owned(), &files);
        let document = format!("| floor of x | what |\n|---|---|\n{rows}\n");
        let found: Vec<String> =
            check(&[graph], &document).expect("valid").iter().map(Complaint::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn files_use_lower_floors_only() {
        check_rows("| `a` | |\n| `b.rs` | |\n| `a/low.rs` | |", &[]);
        check_rows("| `b.rs` | |\n| `a` | |\n| `a/low.rs` | |", &["a/mod.rs: uses `B`"]);
        check_rows("| `a`, `b.rs` | |\n| `a/low.rs` | |", &["a/mod.rs: uses `B`"]);
        check_rows("| `a` | |\n| `b.rs` | |", &["b.rs: uses `Low`"]);
    }

    #[test]
    fn every_file_and_every_place_is_known() {
        check_rows("| `a` | |\n| `a/low.rs` | |", &["b.rs: is on no floor"]);
        check_rows("| `c`, `a` | |\n| `b.rs` | |\n| `a/low.rs` | |", &["nothing called `c`"]);
    }
}
