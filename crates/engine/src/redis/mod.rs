//! The interface of Redis: its databases as key/value tables, and rows of other tables by name.
//!
//! - [`user`]: what a connection of Redis may reach, as the user that it is.
//! - [`row_table`]: a table of one key column whose rows are hashes.
//!
//! The commands are in the crate `redis`, the sockets in `server`.

mod row_table;
mod user;

pub use user::RedisUser;
pub(crate) use user::maintain;
