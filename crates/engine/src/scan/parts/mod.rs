//! The parts of a MergeTree table as a source: pruned to granules, filtered condition by condition.
//!
//! - [`parts_source`]: the source; [`caches`]: what the queries of a table share.
//! - [`selection`]: what pruning leaves, by the indexes of [`index_choice`], reported by [`index_report`].
//! - [`plan`]: the conditions in the order in which they run ([`filter_step`]), and the columns ([`slots`]).
//! - [`tasks`]: the granules of each thread; [`worker`]: one thread; [`mode`]: in which form the rows leave.
//! - [`chunk`]: some granules: columns of the first condition are read, then those of the next for the rows that are
//!   left, then all others.
//! - [`coded`]: a condition on strings that a part keeps with a dictionary; [`coding`]: such strings as numbers.
//! - [`counted`], [`row_count`]: rows that pass, counted without reading.
//! - [`dynamic_filter`]: filters that become narrower meanwhile; [`condition_cache`]: what earlier queries found out;
//!   [`ranges`]: a condition as ranges of one column.
//! - [`final_source`]: what a merge of all parts would leave, for the granules of [`final_selection`].
//! - [`key_order`]: whether an order is that of the key.
//! - [`rows`]: single rows, for an operator that picks rows late; [`part_columns`]: virtual columns.

mod caches;
mod chunk;
mod coded;
mod coding;
mod condition_cache;
mod counted;
mod dynamic_filter;
mod filter_step;
mod final_selection;
mod final_source;
mod index_choice;
mod index_report;
mod key_order;
mod mode;
mod part_columns;
mod parts_source;
mod plan;
mod ranges;
mod reader;
mod row_count;
mod rows;
mod selection;
mod slots;
mod tasks;
mod worker;

pub(crate) use caches::TableCaches;
pub(crate) use final_source::FinalSource;
pub(crate) use parts_source::PartsSource;
