//! The output of a chore on the terminal.

use std::io::Write;

/// Writes a line to standard error.
pub(crate) fn say(line: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}
