//! The house rules that a program can check.
//!
//! - `edges`: which crate may use which, by the tables in ARCHITECTURE.md.
//! - `sources`: the first line, size and characters of each source file, the size of each function.
//! - `documents`: paths that the documents name exist.
//! - `lockfile`: one version of the crates that must agree.
//!
//! A rule that proves wrong is changed here, not worked around.

mod code;
mod documents;
mod edges;
mod lockfile;
mod sources;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::say;

/// Directories that hold no source of ours.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// One broken rule.
#[derive(Debug)]
struct Complaint {
    place: String,
    what: String,
    /// A warning is printed and does not fail.
    is_warning: bool,
}

impl Complaint {
    fn error(place: impl Into<String>, what: impl Into<String>) -> Complaint {
        Complaint { place: place.into(), what: what.into(), is_warning: false }
    }

    fn warning(place: impl Into<String>, what: impl Into<String>) -> Complaint {
        Complaint { place: place.into(), what: what.into(), is_warning: true }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Complaint { place, what, is_warning } = self;
        write!(f, "{}{place}: {what}", if *is_warning { "warning: " } else { "" })
    }
}

/// Prints every complaint; an error if one of them is more than a warning.
pub(crate) fn run(root: &Path) -> Result<()> {
    let complaints = check(root)?;
    for complaint in &complaints {
        say(&complaint.to_string());
    }
    let errors = complaints.iter().filter(|complaint| !complaint.is_warning).count();
    if errors > 0 {
        bail!("{errors} of the house rules are broken; STYLE.md and ARCHITECTURE.md have the reasons");
    }
    say("tidy");
    Ok(())
}

fn check(root: &Path) -> Result<Vec<Complaint>> {
    let files = files(root)?;
    let mut complaints = edges::check(root)?;
    complaints.extend(sources::check(root, &files)?);
    complaints.extend(documents::check(root, &files)?);
    complaints.extend(lockfile::check(root)?);
    Ok(complaints)
}

/// Every file of the checkout, by its path below `root`, sorted.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && !skipped {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path().strip_prefix(root)?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_house_is_tidy() {
        super::run(&crate::root()).expect("the complaints are above");
    }
}
