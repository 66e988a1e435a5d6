//! Which source file of a crate uses which, and the circles in that graph.
//!
//! - `text`: one file without its tests, its `use` declarations and the paths in its code.
//! - `graph`: the files of a crate as modules; a name is followed through re-exports to the file that defines it.
//! - `circles`: files that import each other in a circle, compared with the table of those that may.
//! - `floors`: the order of the folders of a crate, by the table in ARCHITECTURE.md.

mod circles;
mod floors;
mod graph;
mod text;

use std::path::Path;

use anyhow::Result;

use super::complaint::Complaint;

pub(crate) use circles::print;

/// Compares the graphs of all crates with the tables in ARCHITECTURE.md.
pub(super) fn check(root: &Path, document: &str) -> Result<Vec<Complaint>> {
    let graphs = graph::read_all(root)?;
    let mut complaints = circles::check(&graphs, document)?;
    complaints.extend(floors::check(&graphs, document)?);
    Ok(complaints)
}
