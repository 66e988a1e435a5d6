//! SELECT: clause by clause, in the order in which they apply.

mod array_join;
mod assembly;
mod bound_clauses;
mod from;
mod group_by;
mod injective;
mod inner_totals;
mod items;
mod join;
mod limit;
mod order_by;
mod query;
mod random;
mod relation;
mod set_operation;
mod totals;
mod unnest;

pub(crate) use order_by::{ordered, partition_key, sort_key};
pub(crate) use query::plan_subquery;
