//! Checks for cancellation in loops whose steps take very different times.

use basalt_base::Result;
use basalt_base::query::checkpoint;

/// Units of work between two checks.
const UNITS_MAX: usize = 1 << 20;

/// The work since the last check.
#[derive(Default)]
pub(super) struct Pace {
    units: usize,
}

impl Pace {
    /// Adds `units` of work, each of a few nanoseconds.
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
