//! A query on a database: its context, the database, and its entries in the query log.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use basalt_access::{Path, PrivilegeSet};
use basalt_base::dialect::DIALECT_VERSION;
use basalt_base::query::enter;
use basalt_base::{Error, Result};
use basalt_dict::{Dictionaries, Dictionary};
use basalt_functions::{FunctionContext, NoRelations, ServerContext, UserRoles};
use basalt_sql::ast::{Expr, ObjectName};

use crate::VERSION;
use crate::catalog::CatalogObject;
use crate::context::QueryContext;
use crate::dictionaries::{LoadChain, LoadHost, dictionary_for_plan};
use crate::instance::Instance;
use crate::names::{ObjectKey, PUBLIC, TEMPORARY, is_built_in, split_name};
use crate::postgres_session::version;
use crate::query_log::QueryLogKind;
use crate::settings::Settings;

/// A query and the database that it works on. The fields of its context are its own.
pub(crate) struct Execution {
    pub(crate) instance: Arc<Instance>,
    pub(crate) context: Arc<QueryContext>,
    /// Whether the log has its start.
    is_started: AtomicBool,
}

impl Deref for Execution {
    type Target = QueryContext;

    fn deref(&self) -> &QueryContext {
        &self.context
    }
}

impl Execution {
    pub(crate) fn new(instance: &Arc<Instance>, context: Arc<QueryContext>) -> Arc<Execution> {
        let is_started = AtomicBool::new(false);
        Arc::new(Execution { instance: Arc::clone(instance), context, is_started })
    }

    /// A query of the engine's own, for example of a mutation, with default settings.
    pub(crate) fn internal(instance: &Arc<Instance>, database: &str, text: &str) -> Arc<Execution> {
        let context = QueryContext::internal(instance.services(), database, text, Settings::default());
        Execution::new(instance, Arc::new(context))
    }

    /// The instance as loads of dictionaries see it.
    pub(crate) fn load_host(&self) -> Arc<dyn LoadHost> {
        Arc::<Instance>::clone(&self.instance)
    }

    /// The name with its database. A temporary table comes before others.
    pub(crate) fn key_of(&self, name: &ObjectName) -> ObjectKey {
        if name.database.is_none()
            && let Some(stored) = self.temporary.find(&name.name)
        {
            return ObjectKey { database: TEMPORARY.to_owned(), name: stored };
        }
        self.key_of_new(name)
    }

    /// The name of an object that is to be made, with its database.
    pub(crate) fn key_of_new(&self, name: &ObjectName) -> ObjectKey {
        let database = match name.database.as_deref() {
            Some(PUBLIC) if self.postgres.is_some() && !self.instance.catalog().has_database(PUBLIC) => {
                &self.database
            }
            named => named.unwrap_or(&self.database),
        };
        ObjectKey { database: database.to_owned(), name: name.name.clone() }
    }

    /// Whether the name is that of a temporary table of the session.
    pub(crate) fn is_temporary(&self, name: &ObjectName) -> bool {
        name.database.is_none() && self.temporary.find(&name.name).is_some()
    }

    /// Whether the user knows of a database, or of an object in it.
    pub(crate) fn sees(&self, names: &[&str]) -> bool {
        names.first().is_some_and(|database| is_built_in(database)) || self.access.sees(&Path::of(names))
    }

    /// ACCESS_DENIED if the user may read nothing of the object, whether it exists or not.
    pub(crate) fn check_known(&self, key: &ObjectKey) -> Result<()> {
        let path = Path::of(&[&key.database, &key.name]);
        if key.database == TEMPORARY || self.access.has(PrivilegeSet::of("dictGet"), &path) {
            return Ok(());
        }
        self.access.check_columns(PrivilegeSet::of("SELECT"), &path, &[])
    }

    /// The condition that row policies set for the rows of a table.
    pub(crate) fn row_filter(&self, database: &str, name: &str) -> Option<Expr> {
        self.instance.access_control.entities().row_filter_for(&self.access, database, name)
    }

    /// The objects of all databases that the user knows of.
    pub(crate) fn visible_objects(&self) -> Vec<(String, String, CatalogObject)> {
        let mut objects = self.instance.catalog().all_objects();
        objects.retain(|(database, name, _)| self.sees(&[database, name]));
        objects
    }

    /// The databases that the user knows of.
    pub(crate) fn visible_databases(&self) -> Vec<String> {
        let mut databases = self.instance.catalog().databases();
        databases.retain(|database| self.sees(&[database]));
        databases
    }

    /// Does `work`, which `what` names, on a thread that may block.
    pub(crate) async fn on_blocking_thread<T: Send + 'static>(
        self: &Arc<Self>,
        what: &str,
        work: impl FnOnce(&Arc<Execution>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let query = Arc::clone(self);
        let work = move || {
            let _entered = enter(Some(Arc::clone(query.status())));
            work(&query)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(panic) => Err(Error::logical(format!("{what} ended early: {panic}"))),
        }
    }

    /// Writes the start of the query into the log, once: all checks are done, and its work begins.
    pub(crate) fn log_start(&self) {
        if !self.is_started.swap(true, Ordering::Relaxed) {
            self.instance.query_log().record(self, QueryLogKind::Start, None);
        }
    }

    /// Writes the end of the query into the log. If its start is not in the log, an error counts as one before the
    /// start.
    pub(crate) fn log_end(&self, error: Option<&Error>) {
        let kind = match error {
            Some(_) if self.is_started.load(Ordering::Relaxed) => QueryLogKind::ExceptionWhileProcessing,
            Some(_) => QueryLogKind::ExceptionBeforeStart,
            None => {
                self.log_start();
                QueryLogKind::Finish
            }
        };
        self.instance.query_log().record(self, kind, error);
        self.instance.counters().count(self, error);
        self.instance.access_control.count_end(self, error);
    }

    fn roles(&self) -> UserRoles {
        let names = |roles: &BTreeSet<String>| roles.iter().cloned().collect();
        UserRoles {
            current: names(&self.access.current_roles),
            enabled: names(&self.access.enabled_roles),
            default: self.instance.access_control.default_roles(&self.user),
        }
    }

    /// The properties of this query that functions may read.
    pub(crate) fn function_context(&self) -> FunctionContext {
        FunctionContext {
            zone: self.zone,
            now_us: self.started_us,
            current_database: self.database.clone(),
            current_user: self.user.clone(),
            roles: self.roles(),
            query_id: self.id.clone(),
            server: ServerContext {
                dialect_version: self
                    .postgres
                    .as_ref()
                    .map_or_else(|| DIALECT_VERSION.to_owned(), |_| version()),
                version: VERSION.to_owned(),
                uuid: self.instance.uuid().into_bytes(),
                zone: self.services.zone,
                uptime_seconds: self.instance.uptime_seconds(),
            },
            dictionaries: Arc::new(QueryDictionaries {
                instance: Arc::clone(&self.instance),
                chain: Arc::clone(&self.load_chain),
                query: Arc::clone(&self.context),
            }),
            settings: Arc::new(self.settings.clone()),
            relations: Arc::new(NoRelations),
        }
    }
}

/// The dictionaries of the database, for the functions of one query.
struct QueryDictionaries {
    instance: Arc<Instance>,
    chain: Arc<LoadChain>,
    query: Arc<QueryContext>,
}

impl Dictionaries for QueryDictionaries {
    fn dictionary(&self, name: &str, current_database: &str) -> Result<Arc<dyn Dictionary>> {
        let (database, name) = split_name(name, current_database);
        self.query.access.check(PrivilegeSet::of("dictGet"), &Path::of(&[&database, &name]))?;
        let entry = self.instance.catalog().dictionary(&database, &name)?;
        let host: Arc<dyn LoadHost> = Arc::<Instance>::clone(&self.instance);
        dictionary_for_plan(entry, host, Arc::clone(&self.chain), Arc::clone(self.query.status()))
    }
}
