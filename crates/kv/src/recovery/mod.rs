//! Checks that a store's files hold all acknowledged changes, before RocksDB opens them for writing.
//!
//! RocksDB treats a log or a MANIFEST that ends early as cut off by a crash, opens without the rest and deletes
//! files that it then does not know. A damaged file looks the same. So [`check`] reads both kinds first, compares
//! them with the acknowledged state ([`AcknowledgedFile`]), and refuses a store that has less; until then nothing
//! is changed. A refused store is repaired on demand only, by `Store::restore`.

mod acknowledged;
mod check;
mod log_file;
mod manifest;
mod restore;
pub(crate) mod unsynced;

#[cfg(test)]
mod tests;

pub(crate) use acknowledged::{Acknowledged, AcknowledgedFile};
pub(crate) use check::check;
pub(crate) use manifest::ManifestPlace;
