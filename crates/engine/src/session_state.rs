//! The state of a session between its statements.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::Result;

use crate::instance::Instance;
use crate::names::SYSTEM;
use crate::settings::Settings;
use crate::temporary_tables::TemporaryTables;

/// Settings, parameters and the current database.
pub(crate) struct SessionState {
    pub(crate) instance: Arc<Instance>,
    pub(crate) settings: Settings,
    /// Values of `{name:Type}` that SET gave.
    pub(crate) parameters: HashMap<String, String>,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) temporary: Arc<TemporaryTables>,
}

impl SessionState {
    pub(crate) fn use_database(&mut self, name: &str) -> Result<()> {
        if name != SYSTEM {
            self.instance.catalog().require_database(name)?;
        }
        name.clone_into(&mut self.database);
        Ok(())
    }
}
