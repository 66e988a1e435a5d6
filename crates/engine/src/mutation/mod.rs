//! Mutations: `ALTER TABLE ... UPDATE` and `DELETE`, `DELETE FROM`, from their text to changes of blocks.
//!
//! A mutation is stored as the text of its commands. Applying it to a part plans the text against the columns that the
//! table has then, so that it survives restarts and changes of other columns.
//!
//! Tables whose rows are changed in place have no mutations: the same change of blocks is applied to them at once.
//!
//! - [`command`]: the text, and the identifier.
//! - [`planner`]: the names and types of a command checked; [`plan`]: commands as a [`change`] of blocks.
//! - [`apply`]: records a mutation, and applies those that wait to parts.
//! - [`in_place`]: applies commands to a table that is changed in place.

mod apply;
mod change;
mod command;
mod in_place;
mod plan;
mod planner;

pub(crate) use apply::{begin, step, wait};
pub(crate) use command::{ROW_EXISTS, commands_of, mutation_id};
pub(crate) use in_place::change_in_place;
