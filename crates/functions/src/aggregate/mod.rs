//! Aggregate functions: a value for each group.
//!
//! [`AggregateFunction::bind`] is called once per call site and returns the result type, the types of the partial
//! state, and a factory of [`States`], the states of many groups. The adaptors skip NULL arguments and handle empty
//! groups and queries with one group.

mod any;
mod arg_extreme;
mod arguments;
mod avg;
mod bitwise;
mod bound;
#[cfg(test)]
mod conformance;
mod count;
mod covariance;
mod distinct;
mod extreme;
mod extremum_state;
mod function;
mod group_array;
mod group_uniq_array;
mod groups;
mod hash128;
mod key;
mod key_set;
mod key_sets;
mod lists;
mod moments;
mod nothing;
mod nullable;
mod quantile;
mod quantile_exact;
mod reservoir;
mod rows;
mod single;
mod slots;
mod sum;
mod top_k;
mod uniq_exact;
mod wide;
mod wide_average;
mod wide_quantile;
mod widen;

pub use bound::BoundAggregate;
pub use datafusion::logical_expr::EmitTo;
pub use distinct::distinct;
pub use function::{AggregateFunction, BoundStates, NullRule, Parameter, States, StatesFactory, Statistic};
pub use rows::GroupedRows;

use arguments::{illegal_type, no_parameters, only_arg, two_args, wrong_arity};

/// Every aggregate function.
pub fn all() -> &'static [&'static dyn AggregateFunction] {
    ALL
}

static ALL: &[&dyn AggregateFunction] = &[
    &count::Count,
    &sum::Sum,
    &sum::SumWithOverflow,
    &avg::Avg,
    &extreme::MIN,
    &extreme::MAX,
    &any::ANY,
    &any::ANY_LAST,
    &arg_extreme::ARG_MIN,
    &arg_extreme::ARG_MAX,
    &uniq_exact::UNIQ_EXACT,
    &uniq_exact::UNIQ,
    &uniq_exact::UNIQ_COMBINED,
    &group_array::GroupArray,
    &group_uniq_array::GroupUniqArray,
    &top_k::TopK,
    &quantile::QUANTILE,
    &quantile::QUANTILES,
    &quantile::MEDIAN,
    &quantile_exact::QUANTILE_EXACT,
    &quantile_exact::QUANTILES_EXACT,
    &quantile_exact::MEDIAN_EXACT,
    &moments::VAR_POP,
    &moments::VAR_SAMP,
    &moments::STDDEV_POP,
    &moments::STDDEV_SAMP,
    &covariance::COVAR_POP,
    &covariance::COVAR_SAMP,
    &covariance::CORR,
    &bitwise::GROUP_BIT_AND,
    &bitwise::GROUP_BIT_OR,
    &bitwise::GROUP_BIT_XOR,
];
