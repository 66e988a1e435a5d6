//! What a connection remembers of a transaction before EXEC: its commands, and the keys that it watches.

use std::sync::Arc;

use crate::command::Command;
use crate::database::Database;
use crate::failure::{Failure, Outcome};
use crate::table::{Place, Record};

/// The most bytes of queued commands.
const QUEUE_BYTES_MAX: usize = 1 << 30;

/// The commands of a transaction before EXEC.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<(&'static Command, Vec<Vec<u8>>)>,
    bytes: usize,
    /// Whether a command was refused: then EXEC runs nothing.
    pub(crate) is_broken: bool,
}

/// A key as it was when it was watched.
pub(crate) struct Watch {
    pub(crate) database: Arc<Database>,
    pub(crate) key: Vec<u8>,
    pub(crate) seen: Seen,
}

/// The counter of changes of a key and its first row: SQL changes rows without the counter.
#[derive(PartialEq)]
pub(crate) struct Seen {
    changes: u64,
    row: Option<Vec<u8>>,
}

impl Queue {
    pub(crate) fn add(&mut self, command: &'static Command, words: &[&[u8]]) -> Outcome {
        self.bytes += words.iter().map(|word| word.len()).sum::<usize>();
        if self.bytes > QUEUE_BYTES_MAX {
            self.is_broken = true;
            return Err(Failure::text("ERR the transaction is too long"));
        }
        self.commands.push((command, words.iter().map(|word| word.to_vec()).collect()));
        Ok(())
    }
}

impl Seen {
    pub(crate) fn look(database: &Database, key: &[u8], now: u64) -> Outcome<Seen> {
        let changes = database.locks.changes(key);
        let row = database.begin(now)?.get(Place::of(key).head(), |row| {
            let is_expired = Record::decode(row).is_ok_and(|record| record.is_expired(now));
            (!is_expired).then(|| row.to_vec())
        })?;
        Ok(Seen { changes, row: row.flatten() })
    }
}
