//! The state of a session between its statements.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::Result;

use crate::instance::Instance;
use crate::names::{PG_CATALOG, PUBLIC, SYSTEM};
use crate::postgres_session::PostgresSession;
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
    /// The variables of a session of the Postgres interface, whose dialect its statements have.
    pub(crate) postgres: Option<Arc<PostgresSession>>,
}

impl SessionState {
    pub(crate) fn use_database(&mut self, name: &str) -> Result<()> {
        if self.postgres.is_some() && matches!(name, PG_CATALOG | PUBLIC) {
            return Ok(());
        }
        if name != SYSTEM {
            self.instance.catalog().require_database(name)?;
        }
        name.clone_into(&mut self.database);
        Ok(())
    }
}
