//! Users and what they may do: kept on disk, and checked before a statement reads or changes anything.
//!
//! - [`store`]: all entities, in memory and as a file.
//! - [`system_tables`]: what everyone may read of the database `system`.
//! - [`table_functions`]: what table functions need.

mod store;
mod system_tables;
mod table_functions;
#[cfg(test)]
mod tests;

pub use store::DefaultUser;

pub(crate) use store::AccessControl;
pub(crate) use system_tables::is_public;
pub(crate) use table_functions::check_table_function;
