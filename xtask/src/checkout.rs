//! The checkout: where it is, and its files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories that hold no source of ours.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// The directory of the checkout.
pub(crate) fn root() -> PathBuf {
    // cargo sets the current place of the checkout. The one at compile time may be another: checkouts can share a
    // target directory.
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().expect("the package lies in the workspace").to_owned()
}

/// Every file below `root`, by its path there, sorted.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>> {
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

pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}
