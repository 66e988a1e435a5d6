//! A database: a table with the locks of its keys and the cursors of its scans.

use std::sync::Arc;

use basalt_base::{Error, Result};
use basalt_kv::{ByteRange, Direction, Durability, ReopeningStore};
use parking_lot::Mutex;

use crate::cursors::Cursors;
use crate::failure::{Failure, Outcome};
use crate::locks::{Access, Locks};
use crate::table::{Place, Record, decode_key};
use crate::transaction::{Flow, Transaction};

/// When changes are synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Before a reply is sent: a change that was answered is durable.
    #[default]
    Always,
    /// By [`Database::sync_log`], which the server calls each second. A crash of the machine loses what came since; the
    /// end of the process loses nothing.
    EverySecond,
}

/// A database of Redis.
pub struct Database {
    store: Arc<ReopeningStore>,
    policy: SyncPolicy,
    pub(crate) locks: Locks,
    pub(crate) cursors: Cursors,
    /// Where the next sweep begins.
    swept: Mutex<Vec<u8>>,
}

impl Database {
    /// `store` has the columns of [`crate::table::spec`].
    pub fn new(store: Arc<ReopeningStore>, policy: SyncPolicy) -> Database {
        let (locks, cursors) = (Locks::new(), Cursors::default());
        Database { store, policy, locks, cursors, swept: Mutex::new(Vec::new()) }
    }

    pub fn policy(&self) -> SyncPolicy {
        self.policy
    }

    /// Makes all changes so far durable.
    pub fn sync_log(&self) -> Result<()> {
        self.store.readable()?.sync_log()
    }

    /// Looks at up to `limit` rows, where the call before ended, and removes the keys among them whose time is over.
    /// Returns how many.
    pub fn sweep(&self, limit: usize, now_ms: u64) -> Result<usize> {
        let mut place = self.swept.lock();
        let (expired, next) = self.expired_from(&place, limit, now_ms)?;
        for key in &expired {
            let _held = self.locks.hold([key.as_slice()].into_iter(), Access::Alone);
            let mut transaction = self.begin_change(now_ms)?;
            let removed = transaction
                .remove_expired(key, &Place::of(key))
                .and_then(|_| Ok(transaction.write(Durability::Logged)?));
            removed.map_err(|failure| Error::logical(String::from_utf8_lossy(&failure.0)))?;
        }
        *place = next;
        Ok(expired.len())
    }

    /// The expired keys among `limit` first rows from `from` on, and the place after them.
    fn expired_from(&self, from: &[u8], limit: usize, now: u64) -> Result<(Vec<Vec<u8>>, Vec<u8>)> {
        let transaction = self.begin(now)?;
        let (mut seen, mut expired, mut next) = (0, Vec::new(), Vec::new());
        let range = ByteRange { lower: from.to_vec(), upper: None };
        let walked = transaction.each_head(&range, |key, row, encoded| {
            seen += 1;
            if seen > limit {
                next = encoded.to_vec();
                return Ok(Flow::Stop);
            }
            if Record::decode(row)?.is_expired(now) {
                expired.push(key.to_vec());
            }
            Ok(Flow::Next)
        });
        walked.map_err(|failure| Error::logical(String::from_utf8_lossy(&failure.0)))?;
        Ok((expired, next))
    }

    pub(crate) fn begin(&self, now: u64) -> Result<Transaction> {
        Ok(Transaction::new(self.store.readable()?, now))
    }

    pub(crate) fn begin_change(&self, now: u64) -> Result<Transaction> {
        Ok(Transaction::new(self.store.writable()?, now))
    }

    /// Writes the changes and tells those who watch the keys. They are not synced yet.
    pub(crate) fn write(&self, transaction: &mut Transaction) -> Result<bool> {
        let is_changed = transaction.write(Durability::Logged)?;
        transaction.changed_keys.drain(..).for_each(|key| self.locks.changed(&key));
        Ok(is_changed)
    }
}

/// Elements of a collection that are stepped over one by one before the next key is searched.
const STEPS_MAX: usize = 16;

impl Transaction {
    /// Calls `visit` with the keys from a place on, their first rows and their encoded keys.
    pub(crate) fn each_head(
        &self,
        range: &ByteRange,
        mut visit: impl FnMut(&[u8], &[u8], &[u8]) -> Outcome<Flow>,
    ) -> Outcome {
        let mut range = range.clone();
        loop {
            let (mut steps, mut next) = (0, None);
            self.scan(&range, Direction::Ascending, |encoded, row| {
                let Some((key, part, _)) = decode_key(encoded) else { return Ok::<_, Failure>(Flow::Next) };
                if part == 0 {
                    steps = 0;
                    return visit(&key, row, encoded);
                }
                steps += 1;
                if steps > STEPS_MAX {
                    next = Place::of(&key).all().upper;
                    return Ok(Flow::Stop);
                }
                Ok(Flow::Next)
            })?;
            match next {
                Some(lower) => range.lower = lower,
                None => return Ok(()),
            }
        }
    }
}
