//! One version of the crates that must agree.
//!
//! Two versions of arrow in one program are two sets of types that look the same and are not compatible.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::complaint::Complaint;

/// Families of crates that may be locked in one version only.
const SINGLE: [&str; 4] = ["arrow", "datafusion", "tokio", "rocksdb"];

#[derive(Deserialize)]
struct Lockfile {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
}

pub(super) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let text = std::fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
    Ok(complaints(&toml::from_str(&text).context("Cargo.lock")?))
}

fn complaints(lockfile: &Lockfile) -> Vec<Complaint> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Locked { name, version } in &lockfile.package {
        let arrow_part = name.strip_prefix("arrow-").map(|_| "arrow");
        if let Some(family) = SINGLE.iter().find(|family| *name == **family || arrow_part == Some(family)) {
            versions.entry(family).or_default().push(version);
        }
    }
    let mut complaints = Vec::new();
    for (family, mut found) in versions {
        found.sort_unstable();
        found.dedup();
        if found.len() > 1 {
            let what = format!("several versions of `{family}`: {}", found.join(", "));
            complaints.push(Complaint::error("Cargo.lock", what));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names_and_versions: &[(&str, &str)], expected: usize) {
        let package = names_and_versions
            .iter()
            .map(|(name, version)| Locked { name: (*name).to_owned(), version: (*version).to_owned() })
            .collect();
        assert_eq!(complaints(&Lockfile { package }).len(), expected, "{names_and_versions:?}");
    }

    #[test]
    fn second_version_is_refused() {
        check(&[("arrow", "59.3.2"), ("arrow-array", "59.3.2"), ("serde", "1.0"), ("serde", "2.0")], 0);
        check(&[("arrow", "59.3.2"), ("arrow-array", "58.0.0")], 1);
        check(&[("tokio", "1.0.0"), ("tokio", "2.0.0")], 1);
    }
}
