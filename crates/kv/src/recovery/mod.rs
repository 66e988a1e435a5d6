//! Whether a store's files hold all that was acknowledged, before RocksDB opens them for writing.
//!
//! RocksDB takes a log or a MANIFEST that ends early for one that a crash cut off, opens without the rest and deletes
//! what it then does not know. A damaged file looks the same. So [`check`] reads both kinds first, compares them
//! with what the store has acknowledged ([`AcknowledgedFile`]), and refuses a store that has less; nothing is changed
//! until then. What can be saved of a refused store is saved on demand only, by `Store::restore`.

mod acknowledged;
mod check;
mod log_file;
mod manifest;
mod restore;

#[cfg(test)]
mod tests;

pub(crate) use acknowledged::{Acknowledged, AcknowledgedFile};
pub(crate) use check::check;
pub(crate) use manifest::ManifestPlace;
