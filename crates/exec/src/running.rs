//! An aggregate function whose result is asked for again and again while rows still come: what a
//! window frame that grows needs.
//!
//! Our accumulators give up their state when they are evaluated. [`Running`] takes the state out first
//! and puts it back twice: once for the answer, once to go on from.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};

/// The function behind the window's form of it.
#[derive(Debug)]
pub struct Running {
    inner: Arc<AggregateUDF>,
}

impl Running {
    /// `inner`, fit for a window.
    pub fn over(inner: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
        Arc::new(AggregateUDF::new_from_impl(Running { inner }))
    }
}

impl AggregateUDFImpl for Running {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(arg_fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(RunningAccumulator { inner: self.inner.accumulator(args)? }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }
}

impl PartialEq for Running {
    fn eq(&self, other: &Running) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Running {}

impl Hash for Running {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

#[derive(Debug)]
struct RunningAccumulator {
    inner: Box<dyn Accumulator>,
}

impl Accumulator for RunningAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.inner.state()?.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?;
        self.inner.merge_batch(&state)?;
        let result = self.inner.evaluate()?;
        self.inner.merge_batch(&state)?;
        Ok(result)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }
}
