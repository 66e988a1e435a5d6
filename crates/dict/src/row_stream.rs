//! The rows of a dictionary as the source of another one, a few blocks at a time.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow::array::ArrayRef;
use basalt_base::{Error, ErrorCode, Result};

use crate::dictionary::Dictionary;

/// Blocks that may wait for the reader.
const WAITING_MAX: usize = 1;

/// The blocks of [`Dictionary::visit`].
pub struct RowStream {
    /// `None` is the end. If the channel closes without it, the reading thread has panicked.
    blocks: Receiver<Option<Result<Vec<ArrayRef>>>>,
    is_over: bool,
}

impl RowStream {
    /// All rows of `dictionary`, read by a thread of its own.
    pub fn of(dictionary: &Arc<dyn Dictionary>) -> Result<RowStream> {
        let (sender, blocks) = sync_channel(WAITING_MAX);
        let dictionary = Arc::clone(dictionary);
        let read = move || {
            let mut is_heard = true;
            let outcome = dictionary.visit(&mut |block| {
                is_heard = sender.send(Some(Ok(block))).is_ok();
                if is_heard { Ok(()) } else { Err(Error::logical("nobody takes the rows any more")) }
            });
            drop(dictionary);
            if let Err(error) = outcome
                && is_heard
            {
                is_heard = sender.send(Some(Err(error))).is_ok();
            }
            if is_heard {
                // The receiver may be gone already.
                let _ = sender.send(None);
            }
        };
        let thread = std::thread::Builder::new().name("dict-rows".into()).spawn(read);
        thread.map_err(|error| {
            Error::new(ErrorCode::CannotScheduleTask, format!("a thread that reads a dictionary: {error}"))
        })?;
        Ok(RowStream { blocks, is_over: false })
    }
}

impl Iterator for RowStream {
    type Item = Result<Vec<ArrayRef>>;

    fn next(&mut self) -> Option<Result<Vec<ArrayRef>>> {
        if self.is_over {
            return None;
        }
        let next = self
            .blocks
            .recv()
            .unwrap_or_else(|_| Some(Err(Error::logical("a thread that reads a dictionary panicked"))));
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}
