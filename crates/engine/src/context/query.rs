//! A running query: its user, its settings, what it has read so far, and when it must stop.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use basalt_access::{Access, DEFAULT_USER, QuotaClient};
use basalt_base::query::{MemoryTracker, QueryStatus, TimeLimit};
use basalt_base::zone::Zone;
use basalt_base::{Result, bail};
use uuid::Uuid;

use super::end::QueryEnd;
use super::events::ProfileEvents;
use super::memory::{MemoryLimits, QueryMemory};
use super::services::Services;
use crate::dictionaries::LoadChain;
use crate::names::DEFAULT;
use crate::outcome::Progress;
use crate::postgres_session::PostgresSession;
use crate::request::{CancelHandle, Interface};
use crate::settings::Settings;
use crate::temporary_tables::TemporaryTables;

/// One query from its start to its end; shared by everything that works for it.
pub(crate) struct QueryContext {
    pub(crate) services: Arc<Services>,
    pub(crate) id: String,
    pub(crate) text: String,
    /// The column `query_kind` of the log; empty for a query that is not a statement.
    pub(crate) kind: &'static str,
    pub(crate) user: String,
    /// What the user may do.
    pub(crate) access: Arc<Access>,
    /// Where the client is, and the key of quotas that it gave.
    pub(crate) client: QuotaClient,
    pub(crate) database: String,
    pub(crate) interface: Interface,
    /// The variables of its session, if that is one of the Postgres interface.
    pub(crate) postgres: Option<Arc<PostgresSession>>,
    pub(crate) settings: Settings,
    pub(crate) zone: Zone,
    pub(crate) progress: Progress,
    pub(crate) events: ProfileEvents,
    pub(crate) memory: Arc<QueryMemory>,
    pub(crate) end: QueryEnd,
    pub(crate) started: Instant,
    /// Microseconds since 1970.
    pub(crate) started_us: u64,
    /// The dictionaries that it uses.
    pub(crate) load_chain: Arc<LoadChain>,
    /// The temporary tables that it finds by name.
    pub(crate) temporary: Arc<TemporaryTables>,
    /// Whether the blocks that it reads from tables should stay out of the cache.
    pub(crate) reads_once: bool,
}

impl QueryContext {
    /// A query that starts now.
    pub(crate) fn new(
        services: &Arc<Services>,
        id: String,
        text: &str,
        settings: Settings,
        cancel: CancelHandle,
    ) -> QueryContext {
        let limits = MemoryLimits {
            query: settings.max_memory_usage,
            external_sort: settings.max_bytes_before_external_sort,
            external_group_by: settings.max_bytes_before_external_group_by,
        };
        let zone = match settings.session_timezone.as_str() {
            "" => services.zone,
            // A name that is no zone was refused when it was set.
            name => Zone::parse(name).unwrap_or(services.zone),
        };
        let started = Instant::now();
        let time = TimeLimit::seconds(started, settings.max_execution_time);
        let tracker = MemoryTracker::new(limits.query);
        let end = QueryEnd::on_server(&id, time, tracker, cancel, services.memory.tracker());
        QueryContext {
            id,
            text: text.trim().to_owned(),
            kind: "",
            user: DEFAULT_USER.to_owned(),
            access: access_of_engine(),
            client: QuotaClient::default(),
            database: DEFAULT.to_owned(),
            interface: Interface::Local,
            postgres: None,
            zone,
            progress: Progress::default(),
            events: ProfileEvents::default(),
            memory: QueryMemory::new(Arc::clone(&services.memory), Arc::clone(end.status()), limits),
            end,
            started,
            started_us: services.clock.now_us(),
            load_chain: Arc::default(),
            temporary: Arc::default(),
            reads_once: false,
            settings,
            services: Arc::clone(services),
        }
    }

    /// A query of the engine's own.
    pub(crate) fn internal(
        services: &Arc<Services>,
        database: &str,
        text: &str,
        settings: Settings,
    ) -> QueryContext {
        let id = Uuid::new_v4().to_string();
        let query = QueryContext::new(services, id, text, settings, CancelHandle::default());
        query.asked_by(&access_of_engine(), database, Interface::Local)
    }

    /// A query on behalf of the load of a dictionary.
    #[must_use]
    pub(crate) fn in_load_chain(mut self, chain: Arc<LoadChain>) -> QueryContext {
        self.load_chain = chain;
        self
    }

    /// A query that reads a whole table for a copy of it: its blocks would drive those of others from the cache.
    #[must_use]
    pub(crate) fn reading_once(mut self) -> QueryContext {
        self.reads_once = true;
        self
    }

    /// With the kind of its statement.
    #[must_use]
    pub(crate) fn of_kind(mut self, kind: &'static str) -> QueryContext {
        self.kind = kind;
        self
    }

    /// With another text than the one that is run, for the log and the list of processes.
    #[must_use]
    pub(crate) fn shown_as(mut self, text: String) -> QueryContext {
        self.text = text;
        self
    }

    /// With the user, the current database and the interface of the client.
    #[must_use]
    pub(crate) fn asked_by(
        mut self,
        access: &Arc<Access>,
        database: &str,
        interface: Interface,
    ) -> QueryContext {
        self.user.clone_from(&access.user);
        self.access = Arc::clone(access);
        database.clone_into(&mut self.database);
        self.interface = interface;
        self
    }

    /// With the client, for quotas.
    #[must_use]
    pub(crate) fn of_client(mut self, client: &QuotaClient) -> QueryContext {
        self.client = client.clone();
        self
    }

    /// With temporary tables that it finds by name.
    #[must_use]
    pub(crate) fn finding(mut self, tables: &Arc<TemporaryTables>) -> QueryContext {
        self.temporary = Arc::clone(tables);
        self
    }

    /// By the rules of the Postgres interface, if its session has variables of that.
    #[must_use]
    pub(crate) fn of_postgres(mut self, session: Option<Arc<PostgresSession>>) -> QueryContext {
        self.postgres = session;
        self
    }

    /// Threads that the query runs on.
    pub(crate) fn threads(&self) -> usize {
        match self.settings.max_threads {
            0 => self.services.processors,
            threads => threads.min(1024) as usize,
        }
    }

    /// The status that threads enter while they work for the query.
    pub(crate) fn status(&self) -> &Arc<QueryStatus> {
        self.end.status()
    }

    /// An error if the query was cancelled, has run out of time, or holds too much memory. Called between blocks.
    pub(crate) fn check(&self) -> Result<()> {
        self.end.check()
    }

    /// Counts rows that were read from a table.
    pub(crate) fn count_read(&self, rows: u64, bytes: u64) -> Result<()> {
        self.progress.add_read(rows, bytes);
        let progress = self.progress.snapshot();
        let most = self.settings.max_bytes_to_read;
        if most > 0 && progress.read_bytes > most && !self.breaks_reading() {
            bail!(
                TooManyBytes,
                "query `{}` read {} bytes, more than max_bytes_to_read, {most}",
                self.id,
                progress.read_bytes
            );
        }
        self.check_rows_to_read(progress.read_rows)
    }

    /// Adds the rows that a scan is about to read to the progress.
    pub(crate) fn expect_rows(&self, rows: u64) -> datafusion::common::Result<()> {
        self.progress.add_total_rows(rows);
        Ok(())
    }

    /// Whether reading stops here although there may be more rows: `read_overflow_mode = 'break'`.
    pub(crate) fn has_read_enough(&self) -> bool {
        let is_over = |most: u64, read: u64| most > 0 && read > most;
        let (settings, progress) = (&self.settings, self.progress.snapshot());
        self.breaks_reading()
            && (is_over(settings.max_rows_to_read, progress.read_rows)
                || is_over(settings.max_bytes_to_read, progress.read_bytes))
    }

    fn breaks_reading(&self) -> bool {
        self.settings.read_overflow_mode == "break"
    }

    fn check_rows_to_read(&self, rows: u64) -> Result<()> {
        let most = self.settings.max_rows_to_read;
        if most > 0 && rows > most && !self.breaks_reading() {
            bail!(TooManyRows, "query `{}` read {rows} rows, more than max_rows_to_read, {most}", self.id);
        }
        Ok(())
    }
}

/// The access of queries that no user asked for.
fn access_of_engine() -> Arc<Access> {
    static ENGINE: LazyLock<Arc<Access>> = LazyLock::new(|| Arc::new(Access::unlimited(DEFAULT_USER)));
    Arc::clone(&ENGINE)
}
