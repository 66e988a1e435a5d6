//! Running one statement, from its text to its outcome.
//!
//! [`execute`] parses the statement, makes the [`QueryContext`] that everything below shares, enters
//! it in the list of processes, and hands the syntax tree to the file for its kind: [`select`],
//! [`insert`], [`ddl`], [`show`], [`explain`]. The query log is written here, at the start and the end.

mod alter;
mod async_insert;
mod catalog_view;
mod check_table;
mod context;
mod create_dictionary;
mod current;
mod ddl;
mod defaults;
mod detach;
mod detach_database;
mod dictionaries;
mod end;
mod events;
mod execute;
mod explain;
mod fill;
mod format_settings;
mod input_file;
mod insert;
mod join_algorithms;
mod kill;
mod kill_mutation;
mod log;
mod memory;
mod mutation;
mod named_collection;
mod optimize;
mod partition;
mod processes;
mod rename;
mod running;
mod runtime;
mod sample;
mod select;
mod show;
mod statement;
mod system_command;
mod typed;

pub(crate) use async_insert::AsyncInserts;
pub(crate) use context::QueryContext;
pub(crate) use current::current_query_id;
pub(crate) use end::QueryEnd;
pub(crate) use events::ProfileEvents;
pub(crate) use execute::execute;
pub(crate) use format_settings::format_settings;
pub(crate) use input_file::{format_of_path, open_input};
pub(crate) use log::{QueryLog, QueryLogKind};
pub(crate) use memory::ServerMemory;
pub(crate) use mutation::{commands_of as mutation_commands, mutation_id, step as mutation_step};
pub(crate) use processes::Processes;
pub(crate) use runtime::shared_runtime;
pub(crate) use select::format_of_outfile;
pub(crate) use show::default_kind_name;
pub(crate) use typed::run_typed;
