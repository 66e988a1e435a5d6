//! Ctrl-C while a statement runs.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often the progress line is updated.
const TICK: Duration = Duration::from_millis(100);

/// The exit code of a process ended by Ctrl-C, by the convention of shells.
const INTERRUPTED: i32 = 130;

/// Handles Ctrl-C from its first use on; before that, Ctrl-C ends the process as usual.
#[derive(Default)]
pub(super) struct Interrupt {
    signal: Option<Signal>,
}

impl Interrupt {
    /// Forgets a Ctrl-C that came while nothing was running. Must be called inside the runtime.
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

    /// Drives `work` to its end. The first Ctrl-C calls `cancel`, the second ends the process, since the work may be
    /// stuck where it cannot see the cancellation.
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
