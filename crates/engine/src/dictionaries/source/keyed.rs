//! The source of a dictionary that holds no rows, or not all: asked for keys.

use std::sync::{Arc, Weak};

use arrow::array::ArrayRef;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{DirectSource, Located};

use super::{Question, RowSource, Wanted};
use crate::Engine;

/// Makes what is asked: a dictionary must not keep the engine that keeps it.
type MakeQuestion = dyn Fn(&Arc<Engine>) -> Question + Send + Sync;

/// The source of a dictionary that holds no rows, or not all: asked for keys.
pub(in super::super) struct KeyedSource {
    engine: Weak<Engine>,
    source: Arc<dyn RowSource>,
    question: Box<MakeQuestion>,
}

impl KeyedSource {
    /// `question` makes what is asked, each time anew.
    pub(in super::super) fn new(
        engine: &Arc<Engine>,
        source: Arc<dyn RowSource>,
        question: impl Fn(&Arc<Engine>) -> Question + Send + Sync + 'static,
    ) -> KeyedSource {
        KeyedSource { engine: Arc::downgrade(engine), source, question: Box::new(question) }
    }

    fn question(&self) -> Result<Question> {
        match self.engine.upgrade() {
            Some(engine) => Ok((self.question)(&engine)),
            None => Err(Error::new(ErrorCode::QueryWasCancelled, "the engine is shut down")),
        }
    }
}

impl DirectSource for KeyedSource {
    fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        aside(|| self.source.rows_of(&self.question()?, keys))
    }

    fn locate(&self, keys: &[ArrayRef], attributes: &[usize], threads_max: usize) -> Result<Option<Located>> {
        aside(|| self.source.locate(&self.question()?, keys, attributes, threads_max))
    }

    fn prefers_large_blocks(&self) -> bool {
        self.question().is_ok_and(|question| self.source.prefers_large_blocks(&question))
    }

    fn visit(&self, visit: &mut dyn FnMut(Vec<ArrayRef>) -> Result<()>) -> Result<()> {
        aside(|| self.source.rows(&self.question()?, Wanted::All)?.try_for_each(|block| visit(block?)))
    }
}

/// The caller may be an operator on a runtime thread: it steps aside while the source answers, which may be a
/// server far away.
fn aside<T>(ask: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(ask)
}
