//! Background work: merges and mutations, on a few threads.
//!
//! - [`worker`]: the threads, and what they do.
//! - [`switchboard`]: what runs and what is stopped; statements and system tables look at it.
//! - [`running`]: one merge or mutation that runs.
//! - [`postponed`]: tables whose work fails; [`expiry`]: tables whose expired rows stay.

mod expiry;
mod postponed;
mod running;
mod switchboard;
mod worker;

#[cfg(test)]
mod tests;

pub(crate) use running::{Entered, RunningWork, WorkSubject};
pub(crate) use switchboard::Background;
pub(crate) use worker::{BackgroundWork, start_workers};
