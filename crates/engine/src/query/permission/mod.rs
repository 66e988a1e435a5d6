//! The privileges that a statement needs, by its syntax. What SELECT reads is checked in its plan
//! (`planning/access_check.rs`).
//!
//! - `checker`: one privilege on one object.
//! - `statement`: each kind of statement; `alter`, `show`, `definition`: those of many kinds.

mod alter;
mod checker;
mod definition;
mod show;
mod statement;

pub(super) use statement::check;
