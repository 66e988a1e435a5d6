//! Development commands: `cargo xtask tidy` checks the house rules, `cargo xtask record` asks ClickHouse for the
//! expected results of SQL tests, `cargo xtask differ` compares answers to random statements.

mod console;
mod differ;
mod oracle;
mod record;
mod slt;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};

use console::say;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let root = root();
    match arguments {
        [command] if command == "tidy" => tidy::run(&root),
        [command, only @ ..] if command == "record" => record::run(&root, only),
        [command, rest @ ..] if command == "differ" => differ::run(&root, rest),
        _ => bail!(
            "cargo xtask tidy\ncargo xtask differ [--seed N] [--count N]\ncargo xtask record [part of a file's path]..."
        ),
    }
}

/// The root of the checkout.
fn root() -> PathBuf {
    // cargo sets it to the current checkout; the compiled-in path may be of another one with the same target
    // directory.
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().expect("the package lies in the workspace").to_owned()
}
