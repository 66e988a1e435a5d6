//! Settings: each a line in a table, typed, with a default and a description.
//!
//! - [`table`]: what tables of settings have in common.
//! - [`registry`]: those of a session. Settings of ClickHouse that are not in its table are in [`known`], which says
//!   whether other values than the default are accepted.
//! - [`kind`]: the types of ClickHouse's settings.
//! - [`merge_tree`], [`succinct`], [`embedded_rocksdb`]: those of a table of that engine.

mod embedded_rocksdb;
mod kind;
mod known;
mod literal;
mod merge_tree;
mod registry;
mod succinct;
mod suspicious_type;
mod table;
mod typed;
mod value;

pub(crate) use embedded_rocksdb::EmbeddedRocksDbSettings;
pub(crate) use literal::literal_text;
pub(crate) use merge_tree::MergeTreeSettings;
pub(crate) use registry::Settings;
pub(crate) use succinct::SuccinctSettings;
pub(crate) use suspicious_type::check_suspicious_type;
pub(crate) use table::{SettingLine, Tier};
