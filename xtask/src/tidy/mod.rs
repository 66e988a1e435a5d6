//! The house rules that a program can check.
//!
//! - `edges`: which crate may use which, by the tables in ARCHITECTURE.md.
//! - `imports`: which file of a crate uses which: circles of files, and the order of the folders of a crate.
//! - `sources`: the first line, size and characters of each source file, the size of each function.
//! - `documents`: paths that the documents name exist.
//! - `lockfile`: one version of the crates that must agree.
//!
//! A rule that proves wrong is changed here, not worked around.

mod code;
mod complaint;
mod documents;
mod edges;
mod imports;
mod lockfile;
mod sources;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::checkout::files;
use crate::terminal::say;
use complaint::{ARCHITECTURE, Complaint};

pub(crate) use imports::print as print_circles;

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
    let document = std::fs::read_to_string(root.join(ARCHITECTURE)).context(ARCHITECTURE)?;
    let mut complaints = edges::check(root, &document)?;
    complaints.extend(imports::check(root, &document)?);
    complaints.extend(sources::check(root, &files)?);
    complaints.extend(documents::check(root, &files)?);
    complaints.extend(lockfile::check(root)?);
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_house_is_tidy() {
        super::run(&crate::checkout::root()).expect("the complaints are above");
    }
}
