//! CHECK TABLE: reads every block of the selected parts once and verifies its checksum.

use std::sync::Arc;

use super::active::TableParts;
use super::partition::PartSelection;
use crate::error::{Error, Result};
use crate::name::PartName;
use crate::part::stored::StoredPart;

impl TableParts {
    /// The selected parts with a description of the first damage of each. `go_on` is called before each part, and
    /// its error ends the check.
    pub fn check_parts<E: From<Error>>(
        &self,
        which: &PartSelection,
        go_on: impl Fn() -> Result<(), E>,
    ) -> Result<Vec<(PartName, Option<String>)>, E> {
        let mut checked = Vec::new();
        for part in self.selected(which).map_err(E::from)? {
            go_on()?;
            let directory = part.stored.directory.path().to_owned();
            // The metadata in memory was intact when it was read.
            let metadata = StoredPart::open(Arc::clone(&self.storage), directory, part.name().clone());
            let damage = metadata.and_then(|_| part.check()).err();
            checked.push((part.name().clone(), damage.map(|error| error.to_string())));
        }
        Ok(checked)
    }
}
