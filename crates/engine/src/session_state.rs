//! The state of a session between its statements.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_access::{Access, QuotaClient};
use basalt_base::Result;
use basalt_sql::ast::{AccessStatement, RoleSet};

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
    /// The roles of SET ROLE; `None` are the default roles of the user.
    pub(crate) roles: Option<RoleSet>,
    pub(crate) client: QuotaClient,
    pub(crate) temporary: Arc<TemporaryTables>,
    /// The variables of a session of the Postgres interface, whose dialect its statements have.
    pub(crate) postgres: Option<Arc<PostgresSession>>,
}

impl SessionState {
    /// What the user of the session may do now.
    pub(crate) fn access(&self) -> Result<Arc<Access>> {
        self.instance.access_control.access(&self.user, self.roles.as_ref())
    }

    /// Runs SET ROLE.
    pub(crate) fn set_role(&mut self, statement: AccessStatement) -> Result<()> {
        let AccessStatement::SetRole(roles) = statement else { return Ok(()) };
        let roles = Some(roles).filter(|roles| !roles.default);
        self.instance.access_control.access(&self.user, roles.as_ref())?;
        self.roles = roles;
        Ok(())
    }

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
