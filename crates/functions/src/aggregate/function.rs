//! The contract of an aggregate function: what it declares, what binding gives, and the states that run.

use arrow::array::ArrayRef;
use basalt_base::{Result, SqlType};
use datafusion::logical_expr::EmitTo;

use super::GroupedRows;

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
    /// around them unless [`NullRule::Custom`].
    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates>;

    fn nulls(&self) -> NullRule {
        NullRule::SkipOrNull
    }

    /// Whether only which values are equal decides the answer: numbers may stand for strings.
    fn sees_only_equality(&self) -> bool {
        false
    }

    /// Whether the answer depends on the order in which rows come, so that ORDER BY below the aggregation counts.
    fn depends_on_order(&self) -> bool {
        false
    }

    /// What the function finds out, if metadata may know it without the rows.
    fn finds(&self) -> Option<Statistic> {
        None
    }
}

/// What metadata may know of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// How many values are not NULL.
    Count,
    Least,
    Greatest,
}

/// What becomes of rows with a NULL argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullRule {
    /// They are skipped, and the result over `Nullable` arguments is `Nullable`: NULL for a group
    /// without any other row.
    SkipOrNull,
    /// They are skipped; a group without any other row has the result of an empty group.
    SkipOrEmpty,
    /// The function sees them.
    Custom,
}

/// `0.9` of `quantile(0.9)(x)`: its type and an array with the one value.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub ty: SqlType,
    pub value: ArrayRef,
}

/// The state of an aggregation: one value for each group, numbered from 0.
///
/// Arguments and states come as arrays without NULLs, or with NULLs only in rows that [`GroupedRows`]
/// leaves out.
pub trait States: Send + Sync {
    /// The same aggregation without any group.
    fn fresh(&self) -> Box<dyn States>;

    /// Makes empty groups until there are `groups`.
    fn grow(&mut self, groups: usize);

    /// Adds rows to groups that exist.
    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()>;

    /// Adds what another aggregation's [`States::state`] gave.
    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()>;

    /// Results of the groups emitted, in order; the groups that stay are numbered from 0 again.
    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef>;

    /// States of the groups emitted, as arrays of [`BoundStates::state_types`].
    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>>;

    /// The memory held, in bytes. Called once a block: must not walk over the groups.
    fn bytes(&self) -> usize;
}

/// Makes the state of a fresh aggregation.
pub type StatesFactory = Box<dyn Fn() -> Box<dyn States> + Send + Sync>;

/// What [`AggregateFunction::bind`] answers.
pub struct BoundStates {
    pub return_type: SqlType,
    /// The types of the arrays that [`States::state`] gives: what travels between the threads
    /// (later: machines) that aggregate a part each.
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
