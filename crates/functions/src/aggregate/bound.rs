//! The adaptor that makes a bound aggregate function a DataFusion function.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use basalt_base::{Result, SqlType};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};

use super::nullable::NullableGroups;
use super::single::SingleGroup;
use super::{AccumulatorFactory, AggregateFunction, Bound, Parameter};

/// A function with its parameters and argument types, ready to run.
pub struct BoundAggregate {
    name: &'static str,
    parameters: Vec<ScalarValue>,
    arg_types: Vec<SqlType>,
    return_type: SqlType,
    state_types: Vec<SqlType>,
    accumulator: AccumulatorFactory,
    /// Rows with a NULL argument are skipped by the adaptor.
    skips_nulls: bool,
    signature: Signature,
}

impl BoundAggregate {
    /// Binds `function`; answers with the DataFusion function and its SQL result type.
    pub fn bind(
        function: &dyn AggregateFunction,
        parameters: &[Parameter],
        args: &[SqlType],
    ) -> Result<(Arc<AggregateUDF>, SqlType)> {
        let skips_nulls = !function.sees_nulls() && args.iter().any(SqlType::accepts_null);
        let plain: Vec<SqlType> = if function.sees_nulls() {
            args.iter().map(|ty| ty.full().clone()).collect()
        } else {
            args.iter().map(|ty| ty.stripped().clone()).collect()
        };
        let Bound { mut return_type, mut state_types, accumulator } = function.bind(parameters, &plain)?;
        if skips_nulls {
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
            accumulator,
            skips_nulls,
            signature: Signature::variadic_any(Volatility::Immutable),
        };
        Ok((Arc::new(AggregateUDF::new_from_impl(bound)), return_type))
    }

    fn groups(&self) -> Box<dyn GroupsAccumulator> {
        let inner = (self.accumulator)();
        if self.skips_nulls { Box::new(NullableGroups::new(inner)) } else { inner }
    }
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

    fn accumulator(&self, _args: AccumulatorArgs) -> datafusion::common::Result<Box<dyn Accumulator>> {
        let carriers: Vec<DataType> = self.arg_types.iter().map(SqlType::carrier).collect();
        Ok(Box::new(SingleGroup::new(self.groups(), &carriers)?))
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
        Ok(self.groups())
    }

    fn default_value(&self, _data_type: &DataType) -> datafusion::common::Result<ScalarValue> {
        ScalarValue::try_from_array(&self.return_type.default_array(1), 0)
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
