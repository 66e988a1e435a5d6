//! What the program can be asked to do, one file each.

pub(crate) mod client;
pub(crate) mod local;
pub(crate) mod server;

use basalt_engine::ErrorCode;
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;

/// Deep plans recurse; a thread's usual two megabytes are not much for them.
const THREAD_STACK_BYTES: usize = 8 << 20;

pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread().enable_all().thread_stack_size(THREAD_STACK_BYTES).build();
    runtime.map_err(|e| Failure::with_code(ErrorCode::CannotScheduleTask, format!("no threads: {e}")))
}
