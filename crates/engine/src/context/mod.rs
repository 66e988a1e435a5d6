//! A running query as everything below statements sees it.
//!
//! - [`query`]: its user, its settings, and what was read so far.
//! - [`end`]: when it must stop; [`memory`]: what it may hold; [`events`]: what it did.
//! - [`services`]: the clock, the memory and the threads that all queries share.
//! - [`format_settings`]: its settings for readers and writers of formats.

mod end;
mod events;
mod format_settings;
mod memory;
mod query;
mod services;

pub(crate) use events::ProfileEvents;
pub(crate) use format_settings::{copy_settings, format_settings, formats_of};
pub(crate) use memory::{ServerMemory, release_forever};
pub(crate) use query::QueryContext;
pub(crate) use services::Services;
