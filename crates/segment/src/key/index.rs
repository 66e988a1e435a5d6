//! What every key index can do.

use std::fmt;
use std::ops::{ControlFlow, Range};

use basalt_base::Result;

use super::walk::KeyAutomaton;
use crate::Rank;

/// Whether a visitor wants more.
pub type Flow = Result<ControlFlow<()>>;

/// Sorted distinct keys. The rank of a key is the number of smaller keys.
///
/// The bytes under it were checked by their checksums, but another program may have written them: every method
/// returns an error, or some answer, for any bytes.
pub trait KeyIndex: Send + Sync + fmt::Debug {
    /// The number of keys.
    fn len(&self) -> u32;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank of `key`; `None` if it is not there.
    fn find(&self, key: &[u8]) -> Result<Option<Rank>>;

    /// The number of keys less than `key`.
    fn lower_bound(&self, key: &[u8]) -> Result<u32>;

    /// The ranks of the keys that begin with `prefix`.
    fn prefix(&self, prefix: &[u8]) -> Result<Range<Rank>>;

    /// Appends the key of `rank`, which is less than [`KeyIndex::len`], to `out`.
    fn key(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()>;

    /// Visits the keys of `ranks` in order, until `visit` breaks.
    fn scan(&self, ranks: Range<Rank>, visit: &mut dyn FnMut(Rank, &[u8]) -> Flow) -> Result<()>;

    /// Calls `found` with ascending ranges of the ranks in `ranks` whose keys `automaton` accepts. Branches that no
    /// accepted key can have are not visited.
    fn search(
        &self,
        ranks: Range<Rank>,
        automaton: &mut dyn KeyAutomaton,
        found: &mut dyn FnMut(Range<Rank>) -> Flow,
    ) -> Result<()>;

    /// The bytes that it takes in the file.
    fn stored_bytes(&self) -> u64;
}
