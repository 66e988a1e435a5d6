//! A command that is being run: its words, the rows, the reply.

use std::sync::Arc;

use basalt_wire::resp::ReplyWriter;

use crate::database::Database;
use crate::failure::{Outcome, REPLY_TOO_LONG};
use crate::host::{Host, RowTable};
use crate::table::Place;
use crate::transaction::Transaction;

/// The most bytes of a reply.
const REPLY_BYTES_MAX: usize = 512 << 20;

/// What a command of the table gets.
pub(crate) struct Call<'a, 'o> {
    pub(crate) host: &'a dyn Host,
    pub(crate) database: &'a Database,
    pub(crate) number: u32,
    pub(crate) rows: &'a mut Transaction,
    /// The name of the command and its arguments. The table of commands tells how many there are at least.
    pub(crate) words: &'a [&'a [u8]],
    pub(crate) reply: ReplyWriter<'o>,
    /// Where the reply begins in the output.
    pub(crate) start: usize,
}

impl<'a> Call<'a, '_> {
    pub(crate) fn key(&self) -> (&'a [u8], Place) {
        (self.words[1], Place::of(self.words[1]))
    }

    pub(crate) fn now(&self) -> u64 {
        self.rows.now
    }

    /// An error if the reply has become too long.
    pub(crate) fn check_room(&self) -> Outcome {
        if self.reply.out.len() - self.start > REPLY_BYTES_MAX { Err(REPLY_TOO_LONG) } else { Ok(()) }
    }

    /// Puts an array's length before the `count` elements that were appended since `at`.
    pub(crate) fn put_array_before(&mut self, at: usize, count: usize) {
        self.put_before(at, |reply| reply.array(count));
    }

    pub(crate) fn put_before(&mut self, at: usize, write: impl FnOnce(&mut ReplyWriter<'_>)) {
        let end = self.reply.out.len();
        write(&mut self.reply);
        let length = self.reply.out.len() - end;
        self.reply.out[at..].rotate_right(length);
    }

    /// The table and the key of a row, if `key` names one.
    pub(crate) fn row_of<'k>(&self, key: &'k [u8]) -> Option<(Arc<dyn RowTable>, &'k [u8])> {
        row_of(self.host, key)
    }

    pub(crate) fn ok(&mut self) -> Outcome {
        self.reply.simple("OK");
        Ok(())
    }

    pub(crate) fn integer(&mut self, value: i64) -> Outcome {
        self.reply.integer(value);
        Ok(())
    }

    pub(crate) fn flag(&mut self, value: bool) -> Outcome {
        self.integer(i64::from(value))
    }
}

/// See [`Call::row_of`].
pub(crate) fn row_of<'k>(host: &dyn Host, key: &'k [u8]) -> Option<(Arc<dyn RowTable>, &'k [u8])> {
    let colon = key.iter().position(|&byte| byte == b':')?;
    let name = std::str::from_utf8(&key[..colon]).ok()?;
    if name.is_empty() {
        return None;
    }
    Some((host.tables().find(name)?, &key[colon + 1..]))
}
