//! Whether the query may go on, asked in loops whose steps are of very different lengths.

use basalt_base::Result;
use basalt_base::query::checkpoint;

/// Units of work between two questions.
const UNITS_MAX: usize = 1 << 20;

/// The work that was done since the last question.
#[derive(Default)]
pub(super) struct Pace {
    units: usize,
}

impl Pace {
    /// Work of `units`, each of them some nanoseconds.
    #[inline]
    pub(super) fn step(&mut self, units: usize) -> Result<()> {
        self.units = self.units.saturating_add(units);
        if self.units < UNITS_MAX {
            return Ok(());
        }
        self.units = 0;
        checkpoint()
    }
}
