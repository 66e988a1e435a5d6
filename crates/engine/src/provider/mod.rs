//! Tables in the plans of queries.
//!
//! - [`table_scan`]: a table as DataFusion sees it: pushes conditions down and picks columns.
//! - [`exec`]: the operator that runs a source of blocks; [`constants`] adds columns of one value to its rows.
//! - [`codes`]: a rule that groups by the numbers of strings.
//! - [`late`]: a rule that reads wide columns after a LIMIT.
//! - [`direct`]: a rule against spreading few rows over many threads.
//! - [`direct_join`]: a rule that joins by key look-ups; [`large_lookups`] gathers keys for tables that find many keys at
//!   once for less.
//! - [`known_aggregates`]: a rule for aggregates that metadata answers.

mod codes;
mod constants;
mod direct;
mod direct_join;
mod exec;
mod known_aggregates;
mod large_lookups;
mod late;
mod table_scan;

pub(crate) use codes::{CodedGroups, LateStrings};
pub(crate) use direct::DirectSources;
pub(crate) use direct_join::DirectJoins;
pub(crate) use exec::explain_indexes;
pub(crate) use known_aggregates::KnownAggregates;
pub(crate) use large_lookups::LARGE_LOOKUPS;
pub(crate) use late::LateColumns;
pub(crate) use table_scan::TableScanProvider;
