//! Whose turn it is with a dictionary: one load, or one end of a version, at a time.
//!
//! Who comes second waits, and takes what the first one's load came to. The wait ends with the query that waits; the
//! load does not, for others may wait for it, and those who come later need it as well.

use std::sync::Arc;
use std::time::{Duration, Instant};

use basalt_base::Result;
use basalt_dict::Dictionary;
use parking_lot::{Condvar, Mutex};

use crate::query::QueryEnd;

/// How often who waits looks whether its query was cancelled.
const LOOKS_AGAIN: Duration = Duration::from_millis(20);

/// What a load came to.
pub(super) type Outcome = Result<Arc<dyn Dictionary>>;

/// The turns of one dictionary.
#[derive(Default)]
pub(super) struct Turns {
    current: Mutex<Option<Arc<Stage>>>,
}

/// How far a turn is, for those who wait for its end.
#[derive(Default)]
pub(super) struct Stage {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Running,
    /// With nothing for those who waited: it was no load, or found that none was needed.
    Over,
    Loaded(Outcome),
}

/// The turn of somebody, which ends when it is dropped.
pub(super) struct Turn {
    turns: Arc<Turns>,
    stage: Arc<Stage>,
    end: State,
}

impl Turns {
    /// A turn, or how far the one is that somebody else has.
    pub(super) fn take(self: &Arc<Turns>) -> Result<Turn, Arc<Stage>> {
        let mut current = self.current.lock();
        if let Some(stage) = &*current {
            return Err(Arc::clone(stage));
        }
        let stage = Arc::new(Stage::default());
        *current = Some(Arc::clone(&stage));
        Ok(Turn { turns: Arc::clone(self), stage, end: State::Over })
    }

    /// A turn, once those before it have ended.
    pub(super) fn wait(self: &Arc<Turns>, end: &QueryEnd) -> Result<Turn> {
        loop {
            match self.take() {
                Ok(turn) => return Ok(turn),
                // Its load began before this was asked for.
                Err(stage) => drop(stage.wait(end)?),
            }
        }
    }
}

impl Stage {
    /// Waits for the end of the turn, at most to that of the query; `None` if it was no load.
    pub(super) fn wait(&self, end: &QueryEnd) -> Result<Option<Outcome>> {
        let mut state = self.state.lock();
        loop {
            match &*state {
                State::Running => end.check()?,
                State::Over => return Ok(None),
                State::Loaded(outcome) => return Ok(Some(outcome.clone())),
            }
            let look = Instant::now() + LOOKS_AGAIN;
            let until = end.deadline().map_or(look, |deadline| deadline.min(look));
            self.ended.wait_until(&mut state, until);
        }
    }
}

impl Turn {
    pub(super) fn stage(&self) -> Arc<Stage> {
        Arc::clone(&self.stage)
    }

    /// Ends the turn of a load.
    pub(super) fn end(mut self, outcome: Outcome) {
        self.end = State::Loaded(outcome);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Who comes from now on finds what the turn has left.
        *self.turns.current.lock() = None;
        *self.stage.state.lock() = std::mem::take(&mut self.end);
        self.stage.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::query::{MemoryTracker, TimeLimit};
    use basalt_base::{Error, ErrorCode};

    use super::*;
    use crate::request::CancelHandle;

    fn failure() -> Outcome {
        Err(Error::new(ErrorCode::NetworkError, "the source is away"))
    }

    #[test]
    fn who_waits_gets_what_the_load_came_to() {
        let turns = Arc::new(Turns::default());
        let turn = turns.take().ok().expect("nobody has a turn");
        let stage = turns.take().err().expect("somebody has a turn");
        let waiting = std::thread::spawn(move || stage.wait(&QueryEnd::default()));
        turn.end(failure());
        let outcome = waiting.join().expect("no panic").expect("no end of the query");
        let error = outcome.and_then(Result::err).expect("the load failed");
        assert_eq!(error.code(), ErrorCode::NetworkError);
        assert!(turns.take().is_ok(), "the next turn");
    }

    #[test]
    fn a_turn_that_was_no_load_has_no_outcome() {
        let turns = Arc::new(Turns::default());
        let turn = turns.wait(&QueryEnd::default()).expect("nobody has a turn");
        let stage = turn.stage();
        drop(turn);
        assert!(stage.wait(&QueryEnd::default()).expect("no end of the query").is_none());
    }

    #[test]
    fn a_wait_ends_with_the_query() {
        let turns = Arc::new(Turns::default());
        let turn = turns.take().ok().expect("nobody has a turn");
        let cancelled = QueryEnd::default();
        cancelled.cancel.cancel();
        let late = {
            let time = TimeLimit::seconds(Instant::now(), 0.01);
            QueryEnd::new("late", time, MemoryTracker::default(), CancelHandle::default())
        };
        for (end, code) in [(cancelled, ErrorCode::QueryWasCancelled), (late, ErrorCode::TimeoutExceeded)] {
            let error = turn.stage().wait(&end).err().expect("the query ended first");
            assert_eq!(error.code(), code);
            assert_eq!(turns.wait(&end).err().map(|error| error.code()), Some(code));
        }
        turn.end(failure());
        assert!(turns.take().is_ok(), "the load went on");
    }
}
