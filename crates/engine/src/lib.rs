//! Open a database, run a query, stream its result.
//!
//! [`Engine`] is an open data directory. A [`Session`] has settings and a current database, and runs
//! one [`Request`] (a statement, with the data that follows it) after another; each answers with an
//! [`Outcome`]: rows to fetch, as blocks or as bytes of an output format, or nothing but a
//! [`Summary`]. Front ends know nothing else of Basalt.
//!
//! # Not here
//!
//! No sockets, no terminal: those are `server` and `cli`.

mod access;
mod access_control;
mod async_inserts;
mod background;
mod background_work;
mod catalog;
mod client;
mod completion;
mod context;
mod counters;
mod data_dir;
mod dictionaries;
mod engine;
mod execution;
mod health;
mod information_schema;
mod input_file;
mod inspect;
mod instance;
mod keywords;
mod load_host;
mod mutation;
mod named_collections;
mod names;
mod outcome;
mod outfile;
mod planning;
mod postgres_oids;
mod postgres_session;
mod postgres_type;
mod processes;
mod provider;
mod query;
mod query_log;
mod redis;
mod redis_databases;
mod remote_hosts;
mod request;
mod scan;
mod server_log;
mod session;
mod session_state;
mod settings;
mod structure;
mod system;
mod table_functions;
mod tables;
mod temporary_tables;

pub use basalt_base::allocator::{TrackingAllocator, release_free_pages};
pub use basalt_base::open_files::raise_limit as raise_open_files_limit;
pub use basalt_base::{Column, Columns, Error, ErrorCode, Result, SqlType};
pub use basalt_formats::compression;

pub use access_control::DefaultUser;
pub use arrow::record_batch::RecordBatch;
pub use basalt_access::{Proof, SCRAM_SHA_256, ScramExchange, ScramSecret, authentication_failed};
pub use basalt_formats::{BlockSource, BlockWriter};
pub use basalt_sql::postgres;
pub use client::{ClientData, ClientSettings, ClientStatement};
pub use engine::{Engine, EngineOptions};
pub use inspect::{Inspection, inspect};
pub use outcome::{
    Outcome, PostgresDescription, Progress, ProgressSnapshot, QueryResult, ResultBlock, ResultBytes, Summary,
};
pub use outfile::Outfile;
pub use postgres_type::PostgresType;
pub use redis::RedisUser;
pub use request::{CancelHandle, ExternalTable, ExternalTableText, Input, Interface, OpenBlocks, Request};
pub use session::Session;

/// The version that `version()` returns and clients get.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
