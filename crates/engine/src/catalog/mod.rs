//! Databases and what is in them: tables, views and dictionaries, in memory and as metadata files.
//!
//! - [`store`]: everything by name; [`object`]: one of them.
//! - [`open`], [`read_object`]: from the metadata files at the start; [`restore`]: an object that could not be opened.
//! - [`detached`], [`detached_database`]: DETACH and ATTACH; [`detached_object`]: what they leave behind.
//! - [`dictionaries`]: those of all databases.
//! - [`dropped`]: tables that are dropped and still read; [`dependents`]: what a table is needed for.
//! - [`metadata`], [`metadata_file`], [`journal`]: the files.

mod dependents;
mod detached;
mod detached_database;
mod detached_object;
mod dictionaries;
mod dropped;
mod journal;
mod metadata;
mod metadata_file;
mod object;
mod open;
mod read_object;
mod restore;
mod store;

#[cfg(test)]
mod tests;

pub(crate) use detached_object::DetachedObject;
pub(crate) use object::CatalogObject;
pub(crate) use read_object::view_of;
pub(crate) use store::CatalogStore;
