//! A session: settings and a current database that last from one statement to the next.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use basalt_access::{DEFAULT_USER, QuotaClient};
use basalt_base::Result;
use basalt_sql::ast::{AccessStatement, RoleSet};
use basalt_sql::postgres::PostgresParameter;

use crate::instance::Instance;
use crate::names::DEFAULT;
use crate::postgres_session::SETTINGS;
use crate::session_state::SessionState;
use crate::settings::{Settings, literal_text};
use crate::{ExternalTable, ExternalTableText, Outcome, PostgresDescription, Request, completion, query};

/// One user's connection to an [`Engine`](crate::Engine). Statements of a session run one at a time.
pub struct Session {
    state: SessionState,
}

impl Session {
    pub(crate) fn new(instance: Arc<Instance>) -> Session {
        let state = SessionState {
            instance,
            settings: Settings::default(),
            parameters: HashMap::new(),
            database: DEFAULT.to_owned(),
            user: DEFAULT_USER.to_owned(),
            roles: None,
            client: QuotaClient::default(),
            temporary: Arc::default(),
            postgres: None,
        };
        Session { state }
    }

    /// Runs one statement. Returns when a statement without rows is done, or when a result set has
    /// its columns; the rows are computed while they are fetched.
    pub async fn execute(&mut self, request: Request) -> Result<Outcome> {
        query::execute(&mut self.state, request).await
    }

    /// Parses tables that come with a statement, with the settings of the session.
    pub async fn read_tables(&self, tables: Vec<ExternalTableText>) -> Result<Vec<ExternalTable>> {
        query::read_tables(&self.state, tables).await
    }

    /// Splits a script into its statements, without running them: each is the text of one statement
    /// (with the data that belongs to an INSERT), as [`Request::text`] wants it.
    pub fn split(script: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut rest = basalt_sql::Script::new(script);
        let mut statements = Vec::new();
        while let Some(statement) = rest.next_statement() {
            statements.push(script[statement?.span].to_vec());
        }
        Ok(statements)
    }

    /// The value of a setting for all later statements. Called by whoever opens the session: `readonly` does not forbid
    /// it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.state.settings.set(name, value)
    }

    /// The value of a setting, as text.
    pub fn setting(&self, name: &str) -> Result<String> {
        self.state.settings.get(name)
    }

    /// Fails if `text` is longer than `max_query_size`. For callers that parse it themselves.
    pub fn check_statement_size(&self, text: &[u8]) -> Result<()> {
        query::check_size(text, &self.state.settings)
    }

    /// Whether there is a table, view or dictionary called `name`.
    pub fn has_table(&self, database: &str, name: &str) -> bool {
        let database = if database.is_empty() { &self.state.database } else { database };
        self.state.instance.catalog().find(database, name).is_some()
    }

    pub fn current_database(&self) -> &str {
        &self.state.database
    }

    /// `USE name`.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        self.state.use_database(name)
    }

    /// Makes the session one of this user, who connects from `address`: with the settings of its profiles and its
    /// default database.
    pub fn log_in(&mut self, name: &str, address: Option<IpAddr>) -> Result<()> {
        name.clone_into(&mut self.state.user);
        self.state.roles = None;
        self.state.client.address =
            address.map(|address| address.to_canonical().to_string()).unwrap_or_default();
        let access = self.state.access()?;
        for setting in &access.settings {
            if let Some(value) = &setting.value {
                self.state.settings.set(&setting.name, &literal_text(value))?;
            }
        }
        self.state.settings.constrain(&access.constraints);
        if let Some(database) = &access.default_database {
            // It may have been dropped since.
            let _ = self.state.use_database(database);
        }
        Ok(())
    }

    /// The current roles from now on, by name; each must be granted to the user.
    pub fn set_roles(&mut self, names: Vec<String>) -> Result<()> {
        self.state.set_role(AccessStatement::SetRole(RoleSet::of_names(names)))
    }

    /// The key by which quotas count this client, if they are keyed by that.
    pub fn set_quota_key(&mut self, key: &str) {
        key.clone_into(&mut self.state.client.key);
    }

    /// As SET would do it: for values that come from the client.
    pub fn change(&mut self, name: &str, value: &str) -> Result<()> {
        self.state.settings.change(&[(name.to_owned(), value.to_owned())])
    }

    /// From here on, statements are of the Postgres dialect, and mean what they mean there.
    pub fn start_postgres(&mut self) -> Result<()> {
        self.state.postgres = Some(Arc::default());
        SETTINGS.iter().try_for_each(|(name, value)| self.state.settings.set(name, value))
    }

    /// The value of a variable of a session of the Postgres interface.
    pub fn postgres_variable(&self, name: &str) -> Option<String> {
        self.state.postgres.as_ref()?.variable(name)
    }

    /// The variables of a session of the Postgres interface.
    pub fn postgres_variables(&self) -> Vec<(String, String)> {
        self.state.postgres.as_ref().map(|session| session.variables()).unwrap_or_default()
    }

    /// Gives a variable a value; `None` is the one from the start. Returns its name as it is spelled and the value, or
    /// `None` if there is no such variable.
    pub fn set_postgres_variable(&mut self, name: &str, value: Option<&str>) -> Option<(String, String)> {
        Arc::make_mut(self.state.postgres.as_mut()?).set(name, value)
    }

    /// The parameters and columns of a statement of the Postgres dialect, which is not run.
    pub async fn describe_postgres(
        &mut self,
        text: &[u8],
        parameters: &[PostgresParameter],
    ) -> Result<PostgresDescription> {
        query::describe(&mut self.state, text, parameters).await
    }

    /// Names that complete what a user types: keywords, functions, databases, tables, columns.
    pub fn completions(&self) -> Vec<String> {
        completion::names(&self.state)
    }
}

/// A caller may move a statement that runs from thread to thread.
const _: fn(&mut SessionState, Request) = |state, request| {
    fn sent<T: Send>(_: &T) {}
    sent(&query::execute(state, request));
};
