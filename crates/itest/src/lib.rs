//! Is it whole? What the integration tests share: the built program, run as its users run it.
//!
//! - [`program`]: where it is, and `basalt local` to its end.
//! - [`server`]: `basalt server` on a free port, killed with the test.
//! - [`http`]: requests over a plain socket, so that a test sees what stands on the wire.
//! - [`in_process`]: an engine in the process of the test.
//! - [`any_text`]: runs any text, and says which promise was not kept.
//! - [`foreign`]: other databases, where they are installed.
//! - [`certificates`]: of servers for TLS, good ones and others.
//! - [`shared`]: data sets that are not part of the checkout.
//! - [`note`]: a line that is seen even if the test passes.
//! - [`skipped`]: why a test ends early.

pub mod any_text;
pub mod certificates;
pub mod foreign;
pub mod http;
pub mod in_process;
pub mod program;
pub mod server;
pub mod shared;

use std::io::Write;

/// Prints `line` past the test runner, which would keep it back.
pub fn note(line: &str) {
    // A closed standard error is no failed test.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Says why a test checks nothing, or less than it could. Every test that ends early on a machine that lacks something
/// calls this. Where CI is set it fails the test: `scripts/setup tests` installs what is missing.
#[track_caller]
pub fn skipped(reason: &str) {
    assert!(!is_ci(), "CI has to run this test: {reason}");
    skipped_in_ci_too(reason);
}

/// Says why a test checks nothing, where nothing that can be installed would change that.
pub fn skipped_in_ci_too(reason: &str) {
    note(&format!("skipped: {reason}"));
}

/// `CI=1` and `CI=true` say that every test has to run.
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "1" | "true"))
}
