//! The commands of the program, one file each.

pub(crate) mod client;
pub(crate) mod inspect;
pub(crate) mod local;
pub(crate) mod server;

use std::time::Duration;

use basalt_engine::{ErrorCode, raise_open_files_limit};
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;

/// Deep plans recurse, and the usual 2 MB of a thread are too small. Only used pages take memory.
const THREAD_STACK_BYTES: usize = 32 << 20;
/// Threads that may block. Every query of `max_concurrent_queries` may keep one while it waits for another query, which
/// needs some itself: to plan, and to read.
const BLOCKING_THREADS_MAX: usize = 4096;
/// How long shutdown waits for threads; some of them wait for data that may never arrive.
const END_WAIT: Duration = Duration::from_secs(1);

pub(crate) fn runtime() -> Result<Runtime, Failure> {
    raise_open_files_limit();
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(THREAD_STACK_BYTES)
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build();
    runtime.map_err(|e| Failure::with_code(ErrorCode::CannotScheduleTask, format!("no threads: {e}")))
}

/// Ends the threads. A task that holds a table drops it with its thread. RocksDB must be closed while the static
/// variables of the process exist: its mutexes are destroyed at the end of `main`, and locking one then aborts.
pub(crate) fn end(runtime: Runtime) {
    runtime.shutdown_timeout(END_WAIT);
}
