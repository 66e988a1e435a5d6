//! Running one statement, from its text to its outcome.
//!
//! [`execute`] parses the statement, makes the [`Execution`](crate::execution::Execution) that everything below shares,
//! enters it in the list of processes, and hands the syntax tree to the file for its kind: [`select`], [`insert`],
//! [`ddl`], [`show`], [`explain`]. The query log is written here, at the start and the end.

mod alter;
mod backup;
mod check_table;
mod create_dictionary;
mod create_table;
mod create_view;
mod ddl;
mod delete;
mod describe;
mod describe_postgres;
mod detach;
mod detach_database;
mod drop;
mod execute;
mod explain;
mod external_table;
mod insert;
mod kill;
mod kill_mutation;
mod named_collection;
mod optimize;
mod partition;
mod permission;
mod point_read;
mod rename;
mod resolve;
mod running;
mod select;
mod show;
mod show_access;
mod show_text;
mod statement;
mod system_command;
mod temporary_table;
mod update;

pub(crate) use describe_postgres::describe;
pub(crate) use execute::{changes, check_size, execute};
pub(crate) use external_table::read_tables;
pub(crate) use statement::clause_settings;
