//! A build or a merge of a Succinct table as background work: listed while it runs, and ended when it must.

use basalt_base::{Result, bail};
use basalt_parts::WorkControl;
use basalt_succinct::{Step, WorkWatch};
use parking_lot::Mutex;

/// Lists work that begins, until the result is dropped.
pub(crate) type ListStep<'a> = &'a (dyn Fn(&Step) -> Box<dyn Send + 'a> + Sync);

/// Watches the steps of a table.
pub(crate) struct StepWatch<'a> {
    list: ListStep<'a>,
    control: &'a WorkControl,
    listed: Mutex<Option<Box<dyn Send + 'a>>>,
}

impl<'a> StepWatch<'a> {
    pub(crate) fn new(list: ListStep<'a>, control: &'a WorkControl) -> StepWatch<'a> {
        StepWatch { list, control, listed: Mutex::new(None) }
    }
}

impl WorkWatch for StepWatch<'_> {
    fn begins(&self, step: &Step) {
        *self.listed.lock() = Some((self.list)(step));
    }

    fn reads(&self, rows: u64) -> Result<()> {
        if self.control.is_cancelled() {
            bail!(Unfinished, "the build or the merge of a segment was cancelled");
        }
        self.control.count_read(rows);
        Ok(())
    }

    fn ends(&self) {
        self.listed.lock().take();
    }
}
