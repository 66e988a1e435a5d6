//! Output of the commands.

use std::io::Write;

/// Prints a line to standard error.
pub(crate) fn say(line: &str) {
    // There is no other place to report a closed standard error.
    let _ = writeln!(std::io::stderr(), "{line}");
}
