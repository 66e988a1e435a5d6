//! Ctrl-C while a statement runs.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often the progress line moves.
const TICK: Duration = Duration::from_millis(100);

/// Exit code of a process that Ctrl-C ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// Listens for Ctrl-C from its first use on, so that a process that runs nothing ends by it as usual.
#[derive(Default)]
pub(super) struct Interrupt {
    signal: Option<Signal>,
}

impl Interrupt {
    /// Forgets a Ctrl-C that came while nothing ran. Must be called inside the runtime.
    pub(super) fn arm(&mut self) -> io::Result<()> {
        if self.signal.is_none() {
            self.signal = Some(signal(SignalKind::interrupt())?);
        }
        if let Some(signal) = &mut self.signal {
            let mut context = Context::from_waker(Waker::noop());
            while signal.poll_recv(&mut context).is_ready() {}
        }
        Ok(())
    }

    /// Drives `work` to its end. The first Ctrl-C calls `cancel`, the second ends the process: the
    /// work may be stuck where it cannot see that it was cancelled.
    pub(super) async fn watch<T>(
        &mut self,
        work: impl Future<Output = T>,
        mut tick: impl FnMut(),
        mut cancel: impl FnMut(),
    ) -> T {
        let mut work = pin!(work);
        let mut cancelled = false;
        loop {
            let interrupted = async {
                match &mut self.signal {
                    Some(signal) => signal.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                result = &mut work => return result,
                _ = interrupted => {
                    if cancelled {
                        std::process::exit(INTERRUPTED);
                    }
                    cancelled = true;
                    cancel();
                }
                () = tokio::time::sleep(TICK) => tick(),
            }
        }
    }
}
