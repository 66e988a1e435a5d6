//! The commands, a file for each group; [`table`] lists them.

pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod expiry;
pub(crate) mod hash_numbers;
pub(crate) mod hashes;
pub(crate) mod keys;
pub(crate) mod keyspace;
pub(crate) mod list_edits;
pub(crate) mod lists;
pub(crate) mod scan;
pub(crate) mod server;
pub(crate) mod set_algebra;
pub(crate) mod sets;
pub(crate) mod sorted;
pub(crate) mod sorted_range;
pub(crate) mod sorted_remove;
pub(crate) mod string_ranges;
pub(crate) mod string_set;
pub(crate) mod strings;
pub(crate) mod table;
pub(crate) mod transactions;
