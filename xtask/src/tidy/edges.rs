//! Which crate may use which, by the tables in ARCHITECTURE.md.
//!
//! Two tables are read, known by their heads: `| crate | uses |` lists every edge between our own crates, and `|
//! outside crate | only in |` the external crates that only some of ours may use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::complaint::Complaint;

const PREFIX: &str = "basalt-";

/// Rows of a table: the first cell and the names in the second.
type Table = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(root: &Path, document: &str) -> Result<Vec<Complaint>> {
    let edges = table(document, "| crate | uses |")?;
    let outside = table(document, "| outside crate | only in |")?;
    let manifests = manifests(root)?;
    let mut complaints = Vec::new();
    for name in manifests.keys().filter(|name| !edges.contains_key(*name)) {
        complaints
            .push(Complaint::error("ARCHITECTURE.md", format!("crate `{name}` is not in the edges table")));
    }
    for (name, allowed) in &edges {
        match manifests.get(name) {
            Some(manifest) => complaints.extend(manifest.compare(name, allowed, &outside)),
            None => {
                complaints.push(Complaint::error("ARCHITECTURE.md", format!("there is no crate `{name}`")))
            }
        }
    }
    Ok(complaints)
}

/// The fields of a `Cargo.toml` that tidy checks.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Manifest {
    package: Package,
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
    #[serde(default)]
    dev_dependencies: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

impl Manifest {
    fn compare(&self, name: &str, allowed: &BTreeSet<String>, outside: &Table) -> Vec<Complaint> {
        let place = format!("crate `{name}`");
        let mut complaints = Vec::new();
        let used: BTreeSet<&str> =
            self.dependencies.keys().filter_map(|key| key.strip_prefix(PREFIX)).collect();
        for other in used.iter().filter(|other| !allowed.contains(**other)) {
            let what = format!("uses `{other}`, which the edges table in ARCHITECTURE.md does not list");
            complaints.push(Complaint::error(&place, what));
        }
        for other in allowed.iter().filter(|other| !used.contains(other.as_str())) {
            complaints.push(Complaint::error(
                &place,
                format!("does not use `{other}`, but the edges table says so"),
            ));
        }
        for dependency in self.dependencies.keys().chain(self.dev_dependencies.keys()) {
            if outside.get(dependency).is_some_and(|users| !users.contains(name)) {
                complaints
                    .push(Complaint::error(&place, format!("uses `{dependency}`, which is for others only")));
            }
        }
        complaints
    }
}

/// Every crate of the workspace, by its name without the prefix.
fn manifests(root: &Path) -> Result<BTreeMap<String, Manifest>> {
    let mut folders = vec![root.join("xtask")];
    for entry in std::fs::read_dir(root.join("crates"))? {
        folders.push(entry?.path());
    }
    let mut found = BTreeMap::new();
    for path in folders.into_iter().map(|folder| folder.join("Cargo.toml")).filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&path)?;
        let manifest: Manifest = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let name = manifest.package.name.strip_prefix(PREFIX).unwrap_or(&manifest.package.name).to_owned();
        found.insert(name, manifest);
    }
    Ok(found)
}

/// The rows below `head`: names stand in backticks or between commas; `-` stands for none.
fn table(text: &str, head: &str) -> Result<Table> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(head));
    if lines.next().is_none() {
        bail!("ARCHITECTURE.md has no table `{head}`");
    }
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    Ok(rows.flat_map(row).collect())
}

/// One row; several names in the first cell share the second.
fn row(line: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut cells = line.trim_matches('|').split('|');
    let names = |cell: Option<&str>| -> BTreeSet<String> {
        let names = cell.unwrap_or_default().split(',').map(|name| name.trim().trim_matches('`').to_owned());
        names.filter(|name| !name.is_empty() && name != "-").collect()
    };
    let (first, second) = (names(cells.next()), names(cells.next()));
    first.into_iter().map(|name| (name, second.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "x\n| crate | uses |\n|---|---|\n| `a` | - |\n| `b`, `c` | `a`, `x` | why |\n\n| other |\n";

    #[test]
    fn tables_are_read_to_their_end() {
        let table = table(TEXT, "| crate | uses |").expect("is there");
        assert_eq!(table.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(table["a"].is_empty());
        assert_eq!(table["c"].iter().collect::<Vec<_>>(), ["a", "x"]);
    }

    fn complaints(manifest: &str, allowed: &[&str]) -> usize {
        let manifest: Manifest = toml::from_str(manifest).expect("valid");
        let outside = row("| tokio | engine |").into_iter().collect();
        manifest.compare("b", &allowed.iter().map(|name| (*name).to_owned()).collect(), &outside).len()
    }

    #[test]
    fn edges_must_match_both_ways() {
        let manifest = "[package]\nname = \"basalt-b\"\n[dependencies]\nbasalt-a = \"1\"\n";
        assert_eq!(complaints(manifest, &["a"]), 0);
        assert_eq!(complaints(manifest, &[]), 1);
        assert_eq!(complaints(manifest, &["a", "c"]), 1);
    }

    #[test]
    fn reserved_crates_are_refused() {
        assert_eq!(complaints("[package]\nname = \"basalt-b\"\n[dev-dependencies]\ntokio = \"1\"\n", &[]), 1);
    }
}
