//! The output of a chore on the terminal.

use std::io::Write;

/// Writes a line to standard error.
pub(crate) fn say(line: &str) {
    // If standard error is closed, there is nobody to report it to.
    let _ = writeln!(std::io::stderr(), "{line}");
}
