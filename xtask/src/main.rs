//! Chores of the project: `cargo xtask tidy` checks the house rules, `cargo xtask circles` prints which files of a
//! crate import each other in a circle, `cargo xtask record` asks ClickHouse what the SQL tests should expect,
//! `cargo xtask differ` compares answers to random statements.

mod checkout;
mod differ;
mod oracle;
mod record;
mod slt;
mod terminal;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

use terminal::say;

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
    let root = checkout::root();
    match arguments {
        [command] if command == "tidy" => tidy::run(&root),
        [command, only @ ..] if command == "circles" => tidy::print_circles(&root, only),
        [command, only @ ..] if command == "record" => record::run(&root, only),
        [command, rest @ ..] if command == "differ" => differ::run(&root, rest),
        _ => bail!(
            "cargo xtask tidy\ncargo xtask circles [crate]...\ncargo xtask differ [--seed N] [--count N]\ncargo xtask record [part of a file's path]..."
        ),
    }
}
