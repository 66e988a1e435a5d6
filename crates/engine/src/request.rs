//! A request: one statement, its data, its settings.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_formats::BlockSource;
use basalt_sql::postgres::PostgresParameter;
use tokio::sync::Notify;

/// One statement to run.
pub struct Request {
    /// The text of one statement; data of an INSERT may follow in it.
    pub text: Vec<u8>,
    /// Data of an `INSERT ... FORMAT ...`; it follows the data that is in the text, if any.
    pub input: Input,
    /// Tables that this statement alone sees, before those of the catalog.
    pub external_tables: Vec<ExternalTable>,
    /// Generated if missing; must not be that of a running query.
    pub query_id: Option<String>,
    /// Values of `{name:Type}`.
    pub parameters: HashMap<String, String>,
    /// Settings for this statement alone; a SETTINGS clause in it wins over them.
    pub settings: Vec<(String, String)>,
    /// The output format if the statement names none.
    pub default_format: String,
    pub interface: Interface,
    /// As under `readonly = 2`, if the session is not under `readonly` anyway.
    pub reads_only: bool,
    /// A look at the server itself: admitted even if as many queries run as may.
    pub monitors: bool,
    pub cancel: CancelHandle,
    /// Types and values of `$n`, in a session of the Postgres interface.
    pub postgres_parameters: Vec<PostgresParameter>,
}

impl Request {
    /// `text` with the default of everything else.
    pub fn new(text: impl Into<Vec<u8>>) -> Request {
        Request {
            text: text.into(),
            input: Input::None,
            external_tables: Vec::new(),
            query_id: None,
            parameters: HashMap::new(),
            settings: Vec::new(),
            default_format: "TabSeparated".to_owned(),
            interface: Interface::Local,
            reads_only: false,
            monitors: false,
            cancel: CancelHandle::default(),
            postgres_parameters: Vec::new(),
        }
    }
}

/// Where the data of an INSERT comes from.
pub enum Input {
    None,
    /// Read to its end, by a thread that may block.
    Reader(Box<dyn Read + Send>),
    /// Blocks, for an INSERT whose text has no data.
    Blocks(Box<dyn OpenBlocks>),
}

/// Opens the data of an INSERT when its columns are known.
pub trait OpenBlocks: Send {
    /// The blocks of the client, read by a thread that may block. `columns` are those that the INSERT gives; the
    /// blocks may have others, in another order.
    fn open(self: Box<Self>, columns: &Columns) -> Result<Box<dyn BlockSource>>;
}

/// A table that comes with a statement, as bytes of a format.
#[derive(Clone, Debug)]
pub struct ExternalTableText {
    pub name: String,
    /// `a UInt8, b String`, or types alone; found in the data if it is missing.
    pub structure: Option<String>,
    pub format: String,
    pub bytes: Vec<u8>,
}

/// A table that comes with a statement.
#[derive(Clone, Debug)]
pub struct ExternalTable {
    pub name: String,
    pub columns: Columns,
    pub blocks: Vec<RecordBatch>,
}

/// The interface of the client, for `system.processes` and `system.query_log`; the numbers are ClickHouse's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    Tcp = 1,
    Http = 2,
    Postgres = 5,
    Local = 6,
}

/// Cancels the query of the request it was given with; clones share the state.
#[derive(Clone, Debug, Default)]
pub struct CancelHandle {
    state: Arc<CancelState>,
}

#[derive(Debug, Default)]
struct CancelState {
    /// Shared with the query's [`basalt_base::query::QueryStatus`].
    cancelled: Arc<AtomicBool>,
    notify: Notify,
}

impl CancelHandle {
    /// Asks the query to stop; it ends with QUERY_WAS_CANCELLED soon after.
    pub fn cancel(&self) {
        self.state.cancelled.store(true, Ordering::Release);
        self.state.notify.notify_waiters();
    }

    pub fn is_cancelled(&self) -> bool {
        self.state.cancelled.load(Ordering::Acquire)
    }

    /// Set once [`CancelHandle::cancel`] was called.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.state.cancelled)
    }

    /// Ends when [`CancelHandle::cancel`] was called.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.state.notify.notified();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }
}
