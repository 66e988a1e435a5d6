//! Aggregate functions for windows: results while rows are still added, or removed.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};

use crate::running::Running;
use crate::sliding::TwoStacks;

/// How the frames of a window follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frames {
    /// All frames start at the same row.
    Grow,
    /// Rows leave at the start.
    Slide,
}

/// The function inside its form for windows.
#[derive(Debug, PartialEq, Eq)]
pub struct Windowed {
    inner: Arc<AggregateUDF>,
    frames: Frames,
}

impl Windowed {
    /// `inner` in the form for such frames.
    pub fn over(inner: Arc<AggregateUDF>, frames: Frames) -> Arc<AggregateUDF> {
        Arc::new(AggregateUDF::new_from_impl(Windowed { inner, frames }))
    }
}

impl AggregateUDFImpl for Windowed {
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
        let inner = self.inner.accumulator(args)?;
        Ok(match self.frames {
            Frames::Grow => Box::new(Running::new(inner)),
            Frames::Slide => Box::new(TwoStacks::new(inner)),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }
}

impl Hash for Windowed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
        self.frames.hash(state);
    }
}
