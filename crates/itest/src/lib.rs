//! Is it whole? The common parts of integration tests, which run the built program as its users do.
//!
//! - [`program`]: the program's path, and runs of `basalt local`.
//! - [`server`]: `basalt server` on a free port, killed with the test.
//! - [`http`]: requests over a plain socket, so that a test sees the bytes on the wire.
//! - [`in_process`]: an engine in the process of the test.
//! - [`any_text`]: runs any text, and reports broken promises.
//! - [`foreign`]: other databases, if they are installed.
//! - [`certificates`]: valid and invalid certificates for TLS.
//! - [`clients`]: clients in other languages; [`python`]: Python packages, such as clients.
//! - [`raw_client`]: bytes over a plain socket, for the other protocols.
//! - [`shared`]: data sets that are not part of the checkout.
//! - [`waiting`]: polls a condition, with a deadline.
//! - [`note`]: prints a line even if the test passes.
//! - [`skipped`]: reports why a test ends early.

pub mod any_text;
pub mod certificates;
pub mod clients;
pub mod foreign;
pub mod http;
pub mod in_process;
pub mod program;
pub mod python;
pub mod raw_client;
pub mod server;
pub mod shared;
pub mod waiting;

use std::io::Write;

/// Prints `line` directly to standard error, since the test runner captures other output.
pub fn note(line: &str) {
    // A closed standard error must not fail the test.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Reports why a test checks nothing, or less than it could. Every test that ends early on a machine that lacks something
/// calls this. Where CI is set it fails the test: `scripts/setup tests` installs what is missing.
#[track_caller]
pub fn skipped(reason: &str) {
    assert!(!is_ci(), "CI has to run this test: {reason}");
    skipped_in_ci_too(reason);
}

/// Reports why a test checks nothing on a machine where installing something would not help.
pub fn skipped_in_ci_too(reason: &str) {
    note(&format!("skipped: {reason}"));
}

/// `CI=1` and `CI=true` mean that every test must run.
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "1" | "true"))
}
