//! The source of a dictionary that fetches rows by key at lookups: DIRECT and the caches.

use std::sync::{Arc, Weak};

use arrow::array::ArrayRef;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{DirectSource, Located};

use super::super::host::LoadHost;
use super::{LoadRequest, RowRange, RowSource};

/// Makes the request of a lookup. A dictionary must not own the host, because the host owns the dictionary.
type MakeRequest = dyn Fn(Arc<dyn LoadHost>) -> LoadRequest + Send + Sync;

/// A source that fetches rows by key.
pub(in super::super) struct KeyedSource {
    host: Weak<dyn LoadHost>,
    source: Arc<dyn RowSource>,
    make_request: Box<MakeRequest>,
}

impl KeyedSource {
    /// `make_request` is called for each lookup.
    pub(in super::super) fn new(
        host: &Arc<dyn LoadHost>,
        source: Arc<dyn RowSource>,
        make_request: impl Fn(Arc<dyn LoadHost>) -> LoadRequest + Send + Sync + 'static,
    ) -> KeyedSource {
        KeyedSource { host: Arc::downgrade(host), source, make_request: Box::new(make_request) }
    }

    fn request(&self) -> Result<LoadRequest> {
        match self.host.upgrade() {
            Some(host) => Ok((self.make_request)(host)),
            None => Err(Error::new(ErrorCode::QueryWasCancelled, "the engine is shut down")),
        }
    }
}

impl DirectSource for KeyedSource {
    fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        blocking(|| self.source.rows_of(&self.request()?, keys))
    }

    fn locate(&self, keys: &[ArrayRef], attributes: &[usize], threads_max: usize) -> Result<Option<Located>> {
        blocking(|| self.source.locate(&self.request()?, keys, attributes, threads_max))
    }

    fn prefers_large_blocks(&self) -> bool {
        self.request().is_ok_and(|load| self.source.prefers_large_blocks(&load))
    }

    fn visit(&self, visit: &mut dyn FnMut(Vec<ArrayRef>) -> Result<()>) -> Result<()> {
        blocking(|| self.source.rows(&self.request()?, RowRange::All)?.try_for_each(|block| visit(block?)))
    }
}

/// Asks a source that may be a server far away. The caller may be an operator on a runtime thread, which other tasks
/// need.
fn blocking<T>(ask: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(ask)
}
