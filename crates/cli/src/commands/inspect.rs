//! `basalt inspect`: a file of a data directory, described and verified.

use std::io::Write;

use basalt_engine::{ErrorCode, inspect};

use crate::arguments::{InspectOptions, Settings};
use crate::failure::Failure;

/// The exit code for a damaged file.
const DAMAGED: u16 = 1;

pub(crate) fn run(options: &InspectOptions, settings: &Settings) -> Result<(), Failure> {
    if let Some((name, _)) = settings.settings.first() {
        return Err(Failure::with_code(
            ErrorCode::BadArguments,
            format!("inspect has no setting `{name}`: give it a path"),
        ));
    }
    let inspection = inspect(&options.path)?;
    std::io::stdout().write_all(inspection.report.as_bytes()).map_err(|error| Failure::output(&error))?;
    inspection.damage.map_or(Ok(()), |damage| Err(Failure::new(DAMAGED, damage)))
}
