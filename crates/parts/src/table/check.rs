//! CHECK TABLE: every block of the selected parts is read once and compared with its checksum.

use std::sync::Arc;

use super::active::TableParts;
use super::partition::PartSelection;
use crate::error::{Error, Result};
use crate::name::PartName;
use crate::part::stored::StoredPart;

impl TableParts {
    /// The selected parts with the first damage of each, in words; `go_on` is asked before each part, and its error
    /// ends the work.
    pub fn check_parts<E: From<Error>>(
        &self,
        which: &PartSelection,
        go_on: impl Fn() -> Result<(), E>,
    ) -> Result<Vec<(PartName, Option<String>)>, E> {
        let mut checked = Vec::new();
        for part in self.selected(which).map_err(E::from)? {
            go_on()?;
            let directory = part.stored.directory.path().to_owned();
            // What is in memory was whole when it was read.
            let metadata = StoredPart::open(Arc::clone(&self.storage), directory, part.name().clone());
            let damage = metadata.and_then(|_| part.check()).err();
            checked.push((part.name().clone(), damage.map(|error| error.to_string())));
        }
        Ok(checked)
    }
}
