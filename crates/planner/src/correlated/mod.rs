//! Correlated subqueries: they use columns of an outer query.
//!
//! While a subquery is bound, [`Outer`] resolves the names that the subquery does not know and records them as its
//! arguments. In an expression, such a subquery is a call of [`Correlated`] with these arguments. [`apply::apply`]
//! computes the calls of a clause: it joins the distinct arguments of all rows (the domain) into the subquery
//! ([`unnest`]), and joins the result back to the rows. The method is from Neumann and Kemper, "Unnesting Arbitrary
//! Queries" (BTW 2015), which ClickHouse uses too.
//!
//! # Invariants
//!
//! - A subquery without arguments is not handled here: it is run while the outer query is planned.
//! - As in ClickHouse, a scalar subquery without a row for its arguments is NULL, also for `count()`; with several
//!   rows it is any of them.

mod apply;
mod call;
mod join;
mod outer;
mod unnest;

pub(crate) use apply::{apply, filtered, is_correlated, refuse};
pub(crate) use call::{Correlated, CorrelatedKind};
pub(crate) use outer::Outer;
