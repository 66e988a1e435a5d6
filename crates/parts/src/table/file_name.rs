//! Names of files and directories in a table's directory.

/// The directory of unpublished parts and files.
pub(super) const TEMPORARY: &str = "tmp";

/// The directory of parts that are set aside.
pub(super) const DETACHED: &str = "detached";
/// The file in such a part that says why.
pub(super) const REASON_FILE: &str = "reason.txt";
