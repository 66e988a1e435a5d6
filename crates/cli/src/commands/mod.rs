//! What the program can be asked to do, one file each.

pub(crate) mod client;
pub(crate) mod local;
pub(crate) mod server;

use std::time::Duration;

use basalt_engine::{ErrorCode, raise_open_files_limit};
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;

/// Deep plans recurse; a thread's usual two megabytes are not much for them. Only what was used once is memory.
const THREAD_STACK_BYTES: usize = 32 << 20;
/// So long the end waits for threads, of which some wait for data that may never come.
const END_WAIT: Duration = Duration::from_secs(1);

pub(crate) fn runtime() -> Result<Runtime, Failure> {
    raise_open_files_limit();
    let runtime = Builder::new_multi_thread().enable_all().thread_stack_size(THREAD_STACK_BYTES).build();
    runtime.map_err(|e| Failure::with_code(ErrorCode::CannotScheduleTask, format!("no threads: {e}")))
}

/// Ends the threads. A task that holds a table lets it go with its thread, and RocksDB may only close while the process
/// still has all that is static: its mutexes are gone behind the end of `main`, and who locks one aborts.
pub(crate) fn end(runtime: Runtime) {
    runtime.shutdown_timeout(END_WAIT);
}
