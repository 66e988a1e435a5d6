//! Paths that the documents name exist.
//!
//! A path is text in backticks with a `/` in it that begins with something at the top of the checkout,
//! or with the name of a crate: `parts/column_file.rs` is in the sources of the crate `parts`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use regex::Regex;

use super::complaint::Complaint;
use crate::checkout::has_extension;

pub(super) fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<Complaint>> {
    let pattern = Regex::new(r"`(\.?[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)*/?)`")?;
    let mut complaints = Vec::new();
    for path in files.iter().filter(|path| has_extension(path, "md")) {
        let text = std::fs::read_to_string(root.join(path)).with_context(|| path.display().to_string())?;
        for (line, content) in (1..).zip(text.lines()) {
            for found in pattern.captures_iter(content) {
                if !exists(root, path, &found[1]) {
                    let place = format!("{}:{line}", path.display());
                    complaints.push(Complaint::error(place, format!("`{}` does not exist", &found[1])));
                }
            }
        }
    }
    Ok(complaints)
}

/// Whether the path exists, or does not look like a path of this checkout.
fn exists(root: &Path, document: &Path, named: &str) -> bool {
    let Some((first, rest)) = named.split_once('/') else {
        // A bare name is checked only if it is clearly a document of this checkout.
        return !named.ends_with(".md") || root.join(named).exists() || exists_next_to(root, document, named);
    };
    let crate_folder = root.join("crates").join(first);
    let is_ours = root.join(first).exists() || crate_folder.is_dir();
    // Files below `target` are built, not checked in.
    !is_ours
        || first == "target"
        || root.join(named).exists()
        || crate_folder.join("src").join(rest).exists()
        || exists_next_to(root, document, named)
}

fn exists_next_to(root: &Path, document: &Path, named: &str) -> bool {
    document.parent().is_some_and(|folder| root.join(folder).join(named).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_at_the_top_and_in_crates_are_found() {
        let (root, document) = (crate::checkout::root(), Path::new("README.md"));
        for good in ["xtask/src/main.rs", "base/lib.rs", "store/parts", "text/plain", "crates/base/"] {
            assert!(exists(&root, document, good), "{good}");
        }
        for bad in ["xtask/src/nothing.rs", "base/nothing.rs", "NOTHING.md"] {
            assert!(!exists(&root, document, bad), "{bad}");
        }
    }
}
