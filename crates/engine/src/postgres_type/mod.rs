//! Types of Postgres: their numbers and names, and which of them a type of ours is on the wire.

mod mapping;
mod types;

pub(crate) use mapping::EXACT_TYPE;
pub use mapping::PostgresType;
pub(crate) use types::{TypeRow, all, by_name, by_oid};
