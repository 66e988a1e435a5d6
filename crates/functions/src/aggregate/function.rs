//! The contract of an aggregate function: its declaration, the result of binding, and the states of groups.

use arrow::array::ArrayRef;
use basalt_base::{Result, SqlType};
use datafusion::logical_expr::EmitTo;

use super::GroupedRows;

/// An aggregate function of the dialect.
pub trait AggregateFunction: Send + Sync {
    /// The name in ClickHouse's spelling, for example `uniqExact`.
    fn name(&self) -> &'static str;

    /// Other names of the function.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether `SUM` also finds `sum`.
    fn case_insensitive(&self) -> bool {
        false
    }

    /// Checks parameters and argument types. The types are without `Nullable` and `LowCardinality`, unless
    /// [`NullRule::Custom`].
    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates>;

    fn nulls(&self) -> NullRule {
        NullRule::SkipOrNull
    }

    /// Whether the result depends only on which values are equal, so that codes may replace strings.
    fn sees_only_equality(&self) -> bool {
        false
    }

    /// Whether the result depends on the order of rows, so that an ORDER BY below the aggregation matters.
    fn depends_on_order(&self) -> bool {
        false
    }

    /// The statistic that the function computes, if metadata can provide it.
    fn finds(&self) -> Option<Statistic> {
        None
    }
}

/// A statistic of a column in metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The number of values that are not NULL.
    Count,
    Least,
    Greatest,
}

/// The treatment of rows with a NULL argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullRule {
    /// Skipped. The result over `Nullable` arguments is `Nullable`: NULL for a group without any other row.
    SkipOrNull,
    /// Skipped. A group without any other row has the result of an empty group.
    SkipOrEmpty,
    /// Passed to the function.
    Custom,
}

/// A parameter, such as `0.9` in `quantile(0.9)(x)`: its type, and an array with one value.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub ty: SqlType,
    pub value: ArrayRef,
}

/// The state of an aggregation: one value per group, numbered from 0.
///
/// Arguments and states are arrays without NULLs, or with NULLs only in rows that [`GroupedRows`] leaves out.
pub trait States: Send + Sync {
    /// The same aggregation without groups.
    fn fresh(&self) -> Box<dyn States>;

    /// Adds empty groups until there are `groups`.
    fn grow(&mut self, groups: usize);

    /// Adds rows to existing groups.
    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()>;

    /// Adds the output of another aggregation's [`States::state`].
    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()>;

    /// Results of the emitted groups, in order. The remaining groups are renumbered from 0.
    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef>;

    /// States of the emitted groups, as arrays of [`BoundStates::state_types`].
    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>>;

    /// The memory held, in bytes. Called once per block, so it must not iterate over the groups.
    fn bytes(&self) -> usize;
}

/// Makes the state of a new aggregation.
pub type StatesFactory = Box<dyn Fn() -> Box<dyn States> + Send + Sync>;

/// The result of [`AggregateFunction::bind`].
pub struct BoundStates {
    pub return_type: SqlType,
    /// The types of the arrays from [`States::state`], which are exchanged between the threads that aggregate
    /// partitions.
    pub state_types: Vec<SqlType>,
    pub states: StatesFactory,
}

impl BoundStates {
    pub fn new<S: States + 'static>(
        return_type: SqlType,
        state_types: Vec<SqlType>,
        states: impl Fn() -> S + Send + Sync + 'static,
    ) -> BoundStates {
        BoundStates { return_type, state_types, states: Box::new(move || Box::new(states())) }
    }
}
