//! Access control: who a user is, and what it may do.
//!
//! - [`privilege`]: the tree of privileges, as ClickHouse has it.
//! - [`rights`]: privileges on databases, tables and columns; what GRANT and REVOKE do to them.
//! - [`entities`]: users, roles, settings profiles, row policies and quotas by name; [`change`] applies statements.
//! - [`effective`]: what a user may do with the roles that are enabled.
//! - [`authentication`]: stored passwords, and proofs of who connects.
//! - [`scram`]: the exchange of SCRAM-SHA-256.
//! - [`constraints`]: which values a profile lets its settings have.
//! - [`usage`]: what quotas have counted.
//!
//! Everything here is in memory and pure: the engine keeps the entities on disk as the statements that
//! [`entities::Entities::statements`] gives, and asks before it reads or changes anything.

pub mod authentication;
mod change;
mod change_grants;
pub mod constraints;
pub mod effective;
pub mod entities;
pub mod privilege;
pub mod rights;
mod rights_text;
mod roles;
pub mod scram;
pub mod usage;

pub use authentication::{Proof, authentication_failed};
pub use change::{Author, not_found};
pub use constraints::Constraints;
pub use effective::Access;
pub use entities::{DEFAULT_USER, Entities, Grants, Role, User};
pub use privilege::{Level, PrivilegeSet};
pub use rights::{Path, Rights};
pub use scram::{SCRAM_SHA_256, ScramExchange, ScramSecret};
pub use usage::{QuotaClient, QuotaUsage};
