//! The `basalt` program: a shell on a data directory, a server, a client.
//!
//! - `arguments`: the command line.
//! - `configuration`: the file of a server, overridden by the command line.
//! - `commands`: `local`, `server`, `client`, `inspect`.
//! - `connection`: runs statements in this process or on a server.
//! - `script`: statements from the command line, a file or standard input.
//! - `shell`: statements typed at a terminal.
//! - `output`, `progress`, `report`: what is printed, and where.
//! - `figures`: counts and sizes as text.
//! - `failure`: an error and its exit code.

mod arguments;
mod commands;
mod configuration;
mod connection;
mod failure;
mod figures;
mod output;
mod progress;
mod report;
mod script;
mod shell;

use std::io::Write;
use std::process::ExitCode;

use basalt_engine::TrackingAllocator;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;

#[global_allocator]
static ALLOCATOR: TrackingAllocator<mimalloc::MiMalloc> = TrackingAllocator(mimalloc::MiMalloc);

fn main() -> ExitCode {
    let outcome = Arguments::read(std::env::args_os()).and_then(run);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { command, settings } = arguments;
    let done = match command {
        Command::Local(options) => commands::local::run(options, settings),
        Command::Server(options) => commands::server::run(options, settings),
        Command::Client(options) => commands::client::run(options, settings),
        Command::Inspect(options) => commands::inspect::run(&options, &settings),
    };
    let flushed = std::io::stdout().flush();
    done.and_then(|()| flushed.map_err(|e| Failure::output(&e)))
}
