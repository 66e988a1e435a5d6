//! SELECT: clause by clause, in the order in which they apply.

mod array_join;
mod assembly;
mod chance;
mod from;
mod group_by;
mod injective;
mod inner_totals;
mod items;
mod join;
mod limit;
mod order_by;
mod query;
mod relation;
mod set_operation;
mod stage;
mod totals;
mod unnest;

pub(crate) use order_by::{ordered, partition_key, sort_key};
pub(crate) use query::plan_subquery;
