//! The databases `pg_catalog` and `information_schema`: what clients of the Postgres interface ask about tables, types and the session.
//!
//! `relations.txt` and `information_schema.txt` have the columns of PostgreSQL 15's relations. A relation without a file of
//! rows here is empty. To add rows: a function in a file of its subject, and its line in [`registry`].

mod attributes;
mod cells;
mod classes;
mod fixed;
mod information;
mod keys;
mod objects;
mod privileges;
mod registry;
mod relation;
mod relations;
mod schemas;
mod settings;

pub(crate) use registry::{has_table, information_view, table};
pub(crate) use relations::QueryRelations;
