//! The adaptor that makes a bound aggregate function a DataFusion function.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use basalt_base::{Result, SqlType};
use datafusion::common::ScalarValue;
use datafusion::common::stats::Precision;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, StatisticsArgs, Volatility,
};
use datafusion::physical_expr::expressions::{Column, Literal};

use super::groups::Groups;
use super::nullable::NullableStates;
use super::single::SingleGroup;
use super::{AggregateFunction, BoundStates, NullRule, Parameter, States, StatesFactory, Statistic, nothing};
use crate::registry;

/// A function with its parameters and argument types, ready to run.
pub struct BoundAggregate {
    name: &'static str,
    parameters: Vec<ScalarValue>,
    arg_types: Vec<SqlType>,
    return_type: SqlType,
    state_types: Vec<SqlType>,
    states: StatesFactory,
    /// Whether the adaptor skips rows with a NULL argument. `Some(true)`: a group without any other row is NULL.
    skips_nulls: Option<bool>,
    finds: Option<Statistic>,
    signature: Signature,
}

impl BoundAggregate {
    /// Binds `function`. Returns the DataFusion function and its SQL result type.
    pub fn bind(
        function: &dyn AggregateFunction,
        parameters: &[Parameter],
        args: &[SqlType],
    ) -> Result<(Arc<AggregateUDF>, SqlType)> {
        let BoundStates { mut return_type, mut state_types, states } =
            bind_types(function, parameters, args)?;
        let null_rule = function.nulls();
        let nothing = return_type.stripped() == &SqlType::Nothing;
        let skips = !nothing && null_rule != NullRule::Custom && args.iter().any(SqlType::accepts_null);
        let skips_nulls = skips.then(|| {
            let nullable = return_type.clone().into_nullable();
            null_rule == NullRule::SkipOrNull && nullable.accepts_null()
        });
        if skips_nulls == Some(true) {
            return_type = return_type.into_nullable();
            state_types.push(SqlType::Bool);
        }
        let values = parameters
            .iter()
            .map(|parameter| ScalarValue::try_from_array(&parameter.value, 0))
            .collect::<datafusion::common::Result<Vec<_>>>()
            .map_err(basalt_base::Error::logical)?;
        let bound = BoundAggregate {
            name: function.name(),
            parameters: values,
            arg_types: args.to_vec(),
            return_type: return_type.clone(),
            state_types,
            states,
            skips_nulls,
            finds: function.finds(),
            signature: Signature::variadic_any(Volatility::Immutable),
        };
        Ok((Arc::new(AggregateUDF::new_from_impl(bound)), return_type))
    }

    /// The SQL types of the arguments.
    pub fn arg_types(&self) -> &[SqlType] {
        &self.arg_types
    }

    /// The same function over numbers that represent the values of the only argument, such as dictionary codes;
    /// `None` if the values themselves matter.
    pub fn over_numbers(&self) -> Option<Arc<AggregateUDF>> {
        let function = registry::aggregate(self.name).filter(|function| function.sees_only_equality())?;
        let [arg] = &self.arg_types[..] else { return None };
        let number = if arg.accepts_null() { SqlType::UInt32.into_nullable() } else { SqlType::UInt32 };
        let (function, ty) = BoundAggregate::bind(function, &[], &[number]).ok()?;
        (self.parameters.is_empty() && ty == self.return_type).then_some(function)
    }

    /// Whether statistics of a table can give the result.
    pub fn answers_from_metadata(&self) -> bool {
        self.finds.is_some() && self.parameters.is_empty()
    }

    fn states(&self) -> Box<dyn States> {
        let inner = (self.states)();
        match self.skips_nulls {
            Some(null_if_empty) => Box::new(NullableStates::new(inner, null_if_empty)),
            None => inner,
        }
    }
}

fn exact(known: &Precision<ScalarValue>) -> Option<ScalarValue> {
    match known {
        Precision::Exact(value) => Some(value.clone()),
        _ => None,
    }
}

/// Binds under the function's NULL rule.
fn bind_types(
    function: &dyn AggregateFunction,
    parameters: &[Parameter],
    args: &[SqlType],
) -> Result<BoundStates> {
    let rule = function.nulls();
    if rule == NullRule::Custom {
        let full: Vec<SqlType> = args.iter().map(|ty| ty.full().clone()).collect();
        return function.bind(parameters, &full);
    }
    let of_nothing = args.iter().any(|ty| ty.stripped() == &SqlType::Nothing);
    if rule == NullRule::SkipOrNull && of_nothing {
        return Ok(nothing::bind());
    }
    let plain: Vec<SqlType> = args.iter().map(|ty| ty.stripped().clone()).collect();
    let bound = function.bind(parameters, &plain)?;
    // Counts over no rows are 0; an array over no rows is never NULL.
    let is_array = matches!(bound.return_type, SqlType::Array(_));
    Ok(if of_nothing && is_array { nothing::bind() } else { bound })
}

impl AggregateUDFImpl for BoundAggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> datafusion::common::Result<DataType> {
        Ok(self.return_type.carrier())
    }

    fn return_field(&self, _arg_fields: &[FieldRef]) -> datafusion::common::Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name, self.return_type.carrier(), self.return_type.accepts_null())))
    }

    fn is_nullable(&self) -> bool {
        self.return_type.accepts_null()
    }

    /// Answers from metadata. The accumulator handles empty input.
    fn value_from_stats(&self, args: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        let finds = self.finds.filter(|_| !args.is_distinct && self.answers_from_metadata())?;
        let Precision::Exact(rows) = args.statistics.num_rows else { return None };
        let [arg] = args.exprs else { return None };
        if finds == Statistic::Count
            && arg.downcast_ref::<Literal>().is_some_and(|one| !one.value().is_null())
        {
            return Some(ScalarValue::UInt64(Some(rows as u64)));
        }
        let column = arg.downcast_ref::<Column>()?;
        let known = args.statistics.column_statistics.get(column.index())?;
        let value = match finds {
            Statistic::Count => match known.null_count {
                Precision::Exact(nulls) => ScalarValue::UInt64(Some(rows.checked_sub(nulls)? as u64)),
                _ if self.arg_types.iter().all(|ty| !ty.accepts_null()) => {
                    ScalarValue::UInt64(Some(rows as u64))
                }
                _ => return None,
            },
            Statistic::Least => exact(&known.min_value)?,
            Statistic::Greatest => exact(&known.max_value)?,
        };
        (value.data_type() == self.return_type.carrier()).then_some(value)
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> datafusion::common::Result<Box<dyn Accumulator>> {
        Ok(Box::new(SingleGroup::new(self.states())))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> datafusion::common::Result<Vec<FieldRef>> {
        let field = |(index, ty): (usize, &SqlType)| {
            Arc::new(Field::new(format!("{}[{index}]", args.name), ty.carrier(), ty.accepts_null()))
        };
        Ok(self.state_types.iter().enumerate().map(field).collect())
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        _args: AccumulatorArgs,
    ) -> datafusion::common::Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::new(self.states())))
    }

    /// The result over no rows.
    fn default_value(&self, _data_type: &DataType) -> datafusion::common::Result<ScalarValue> {
        SingleGroup::new(self.states()).evaluate()
    }
}

impl PartialEq for BoundAggregate {
    fn eq(&self, other: &BoundAggregate) -> bool {
        self.name == other.name && self.parameters == other.parameters && self.arg_types == other.arg_types
    }
}

impl Eq for BoundAggregate {}

impl Hash for BoundAggregate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.parameters.hash(state);
        self.arg_types.hash(state);
    }
}

impl fmt::Debug for BoundAggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundAggregate").field("name", &self.name).field("args", &self.arg_types).finish()
    }
}
