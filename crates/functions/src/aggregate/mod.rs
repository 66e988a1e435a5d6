//! Aggregate functions: a value for each group.
//!
//! [`AggregateFunction::bind`] is called once a call site and answers with the result type, the
//! types of the partial state, and a factory of [`GroupsAccumulator`]s, DataFusion's own trait for
//! the state of many groups at once. The adaptor deals with NULL arguments (skipped), with empty
//! groups, and with queries that have one group only.

mod bound;
mod nullable;
mod single;

pub use bound::BoundAggregate;
pub use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use arrow::array::ArrayRef;
use basalt_base::{Result, SqlType};

/// An aggregate function of the dialect.
pub trait AggregateFunction: Send + Sync {
    /// The name as ClickHouse writes it, for example `uniqExact`.
    fn name(&self) -> &'static str;

    /// Other names of the same function.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether `SUM` finds `sum`.
    fn case_insensitive(&self) -> bool {
        false
    }

    /// Checks parameters and argument types. The types have no `Nullable` and no `LowCardinality`
    /// around them unless [`AggregateFunction::sees_nulls`].
    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<Bound>;

    /// Whether the function itself deals with NULL, as `count` does. Otherwise rows with a NULL
    /// argument are skipped, and the result over `Nullable` arguments is `Nullable`: NULL for a group
    /// without any other row.
    fn sees_nulls(&self) -> bool {
        false
    }
}

/// `0.9` of `quantile(0.9)(x)`: its type and an array with the one value.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub ty: SqlType,
    pub value: ArrayRef,
}

/// Makes the state of a fresh aggregation.
pub type AccumulatorFactory = Box<dyn Fn() -> Box<dyn GroupsAccumulator> + Send + Sync>;

/// What [`AggregateFunction::bind`] answers.
pub struct Bound {
    pub return_type: SqlType,
    /// The types of the arrays that [`GroupsAccumulator::state`] gives: what travels between the
    /// threads (later: machines) that aggregate a part each.
    pub state_types: Vec<SqlType>,
    pub accumulator: AccumulatorFactory,
}

impl Bound {
    pub fn new<A: GroupsAccumulator + 'static>(
        return_type: SqlType,
        state_types: Vec<SqlType>,
        accumulator: impl Fn() -> A + Send + Sync + 'static,
    ) -> Bound {
        Bound { return_type, state_types, accumulator: Box::new(move || Box::new(accumulator())) }
    }
}

/// Every aggregate function.
pub fn all() -> &'static [&'static dyn AggregateFunction] {
    &[]
}
