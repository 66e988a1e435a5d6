//! Correlated subqueries: those that name columns of the query around them.
//!
//! While a subquery is bound, [`Outer`] finds the names that it does not know itself and counts them as its
//! arguments. An expression holds such a subquery as a call of [`Correlated`] with these arguments.
//! [`apply::apply`] then computes the calls of a clause: the distinct arguments of all rows (the domain) are joined
//! into the subquery ([`unnest`]), and its result is joined back to the rows.
//! The method is that of Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015), which ClickHouse uses too.
//!
//! # Invariants
//!
//! - A subquery without arguments is no concern of this module: it is answered while the query around it is planned.
//! - As in ClickHouse a scalar subquery without a row for its arguments is NULL, `count()` too, and one with several
//!   rows is any of them.

mod apply;
mod call;
mod join;
mod outer;
mod unnest;

pub(crate) use apply::{apply, filtered, is_correlated, refuse};
pub(crate) use call::{Correlated, CorrelatedKind};
pub(crate) use outer::Outer;
