//! The work of a scan, shared by threads: each has its own range of granules, and a thread that is done takes from the
//! longest queue of the others.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use basalt_parts::Part;
use parking_lot::Mutex;

use super::plan::ScanPlan;
use super::selection::Selection;

/// Granules that are read together: the largest blocks hold as many, so none is decoded twice.
pub(super) const CHUNK_MARKS: usize = 8;
/// The approximate cost of a task in decoded bytes, large compared with the cost of taking it from a queue.
pub(super) const TASK_BYTES: u64 = 1 << 20;

/// Granules of a part that one thread reads.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) part: Arc<Part>,
    /// The part's position in the selection.
    pub(super) index: usize,
    pub(super) marks: Range<usize>,
    /// Bytes that reading them costs, about.
    pub(super) bytes: u64,
}

/// A queue for each thread.
#[derive(Debug)]
pub(super) struct TaskQueues {
    queues: Vec<Mutex<VecDeque<Task>>>,
    /// Each thread keeps to its own.
    is_ordered: bool,
}

impl TaskQueues {
    /// Gives each of `threads` a stretch of `tasks` with about the same number of bytes.
    pub(super) fn deal(tasks: Vec<Task>, threads: usize) -> TaskQueues {
        let share = tasks.iter().map(|task| task.bytes).sum::<u64>() / threads as u64 + 1;
        let mut queues = vec![VecDeque::new(); threads];
        let mut dealt = 0;
        for task in tasks {
            let thread = (dealt / share).min(threads as u64 - 1) as usize;
            dealt += task.bytes;
            queues[thread].push_back(task);
        }
        TaskQueues { queues: queues.into_iter().map(Mutex::new).collect(), is_ordered: false }
    }

    /// A queue for each part; if there is only one, its granules for up to `threads`, in order.
    pub(super) fn in_order(tasks: Vec<Task>, threads: usize) -> TaskQueues {
        let parts = tasks.chunk_by(|one, next| one.index == next.index).count();
        if parts <= 1 {
            return TaskQueues { is_ordered: true, ..TaskQueues::deal(tasks, threads) };
        }
        let queues = tasks.chunk_by(|one, next| one.index == next.index);
        let queues = queues.map(|tasks| Mutex::new(tasks.to_vec().into())).collect();
        TaskQueues { queues, is_ordered: true }
    }

    /// The same tasks, each queue from its end on.
    pub(super) fn reversed(self) -> TaskQueues {
        let reversed =
            |queue: Mutex<VecDeque<Task>>| Mutex::new(queue.into_inner().into_iter().rev().collect());
        TaskQueues { queues: self.queues.into_iter().map(reversed).collect(), ..self }
    }

    pub(super) fn count(&self) -> usize {
        self.queues.len()
    }

    /// The next task of thread `thread`: its own in order, then the last one of the longest queue.
    pub(super) fn take(&self, thread: usize) -> Option<Task> {
        if let Some(task) = self.queues[thread].lock().pop_front() {
            return Some(task);
        }
        if self.is_ordered {
            return None;
        }
        // A queue may become empty after it was chosen; then the next longest is tried.
        for _ in 0..=self.queues.len() {
            let longest = self.queues.iter().max_by_key(|queue| queue.lock().len())?;
            if let Some(task) = longest.lock().pop_back() {
                return Some(task);
            }
        }
        None
    }
}

/// Pieces that cost about [`TASK_BYTES`] each. They end where blocks may end.
pub(super) fn tasks_of(selection: &Selection, plan: &ScanPlan) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (index, (part, marks)) in selection.parts.iter().enumerate() {
        let mark_bytes = plan.mark_bytes(part);
        let chunks = (TASK_BYTES / mark_bytes) as usize / CHUNK_MARKS;
        let task_marks = chunks.max(1) * CHUNK_MARKS;
        for range in &marks.ranges {
            let mut start = range.start;
            while start < range.end {
                let end = ((start + task_marks) / CHUNK_MARKS * CHUNK_MARKS).min(range.end);
                let bytes = mark_bytes * (end - start) as u64;
                tasks.push(Task { part: Arc::clone(part), index, marks: start..end, bytes });
                start = end;
            }
        }
    }
    tasks
}
