//! Functions with a lambda: the body is computed once for all elements of a block's arrays.
//!
//! `arrayMap((x, y) -> x + y + c, xs, ys)` becomes a call over `xs`, `ys` and the captured `c`. A batch holds the
//! elements of many rows, `c` is repeated for each element, and the body is an ordinary expression over the batch.
//!
//! # Cost
//!
//! The rows of a batch are limited so that repeated values stay below [`args::BATCH_BYTES_MAX`]. A row that exceeds this
//! alone, such as in `arrayMap(i -> xs[i], range(1, length(xs)))`, gets a batch of its own in which the captured
//! values are constants: a captured array is not copied for each element.

mod args;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use basalt_base::array_bytes::add_row_bytes;
use basalt_base::query::checkpoint;
use basalt_base::{Error, ErrorCode};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array, new_empty_array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{SortColumn, SortOptions, concat, filter, lexsort_to_indices, take};
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use self::args::{Args, batch_of, with_constants};
use crate::error::into_datafusion;

/// The maximum bytes of one value that is repeated for every element.
const REPEATED_BYTES_MAX: usize = 1 << 30;

/// How the result is made from the elements and the values of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LambdaKind {
    /// The values of the body.
    Map,
    /// The elements of the first array where the body, a Boolean, is true.
    Filter,
    /// The elements of the first array, stably sorted by the values of the body.
    Sort { descending: bool },
}

/// A call of a function with a lambda. Its arguments are the arrays, followed by the captured values.
pub struct LambdaCall {
    /// The SQL name of the function.
    pub name: String,
    pub kind: LambdaKind,
    pub body: Expr,
    /// The columns of the body: one per argument, elements first.
    pub columns: Vec<String>,
    /// The number of arguments that are arrays.
    pub arrays: usize,
    pub return_field: FieldRef,
    signature: Signature,
    /// Compiled for the types of the first block.
    compiled: OnceLock<Arc<dyn PhysicalExpr>>,
}

impl LambdaCall {
    /// The function; `return_field` is the field of the resulting list.
    pub fn function(
        name: String,
        kind: LambdaKind,
        body: Expr,
        columns: Vec<String>,
        arrays: usize,
        return_field: FieldRef,
    ) -> Arc<ScalarUDF> {
        let volatility = if body.is_volatile() { Volatility::Volatile } else { Volatility::Immutable };
        let signature =
            Signature::one_of(vec![TypeSignature::Nullary, TypeSignature::VariadicAny], volatility);
        let compiled = OnceLock::new();
        Arc::new(ScalarUDF::new_from_impl(LambdaCall {
            name,
            kind,
            body,
            columns,
            arrays,
            return_field,
            signature,
            compiled,
        }))
    }

    fn compiled(&self, schema: &Schema) -> Result<&Arc<dyn PhysicalExpr>> {
        if let Some(compiled) = self.compiled.get() {
            return Ok(compiled);
        }
        let schema = DFSchema::try_from(schema.clone())?;
        let context = PhysicalPlanningContext::default();
        let compiled = create_physical_expr(&self.body, &schema, &ExecutionProps::new(), &context)?;
        Ok(self.compiled.get_or_init(|| compiled))
    }

    /// The lists of some rows, and the values of the body for all of their elements.
    fn lists_and_body(&self, args: &Args, rows: Range<usize>) -> Result<(Vec<ListArray>, ArrayRef)> {
        checkpoint().map_err(into_datafusion)?;
        let lists = args.lists(rows.clone())?;
        let Some(first) = lists.first() else {
            return Err(DataFusionError::Internal("a lambda without arrays".into()));
        };
        if lists.iter().any(|list| list.offsets() != first.offsets()) {
            let name = &self.name;
            return Err(into_datafusion(Error::new(
                ErrorCode::SizesOfArraysDontMatch,
                format!("the arrays that `{name}` takes have different lengths"),
            )));
        }
        let count = first.values().len();
        let elements = lists.iter().map(|list| Arc::clone(list.values()));
        let compiled = self.compiled(&args.schema(&self.columns))?;
        let body = if rows.len() == 1 && args.is_wide(rows.start, count) {
            let body = with_constants(compiled, self.arrays, &args.captured_in(rows.start)?)?;
            body.evaluate(&batch_of(&self.columns, elements.collect(), count)?)?
        } else {
            let captured = args.repeated(rows, first.offsets())?;
            compiled.evaluate(&batch_of(&self.columns, elements.chain(captured).collect(), count)?)?
        };
        let body = self.repeat(body, count)?;
        Ok((lists, body))
    }

    /// A value for each of `count` elements.
    fn repeat(&self, value: ColumnarValue, count: usize) -> Result<ArrayRef> {
        if let ColumnarValue::Scalar(value) = &value {
            let mut width = [0];
            add_row_bytes(&value.to_array()?, &mut width);
            if width[0].saturating_mul(count) > REPEATED_BYTES_MAX {
                return Err(self.too_large(count));
            }
        }
        value.into_array(count)
    }

    fn too_large(&self, elements: usize) -> DataFusionError {
        into_datafusion(Error::new(
            ErrorCode::TooLargeArraySize,
            format!("`{}` would make too much of {elements} elements in one block", self.name),
        ))
    }

    /// The result for some rows.
    fn rows(&self, args: &Args, rows: Range<usize>) -> Result<ArrayRef> {
        let (lists, body) = self.lists_and_body(args, rows)?;
        let first = &lists[0];
        let (offsets, elements) = match self.kind {
            LambdaKind::Map => (first.offsets().clone(), body),
            LambdaKind::Filter => filtered(first, &body)?,
            LambdaKind::Sort { descending } => (first.offsets().clone(), sorted(first, &body, descending)?),
        };
        self.list_of(offsets, elements)
    }

    fn element_type(&self) -> Result<&DataType> {
        match self.return_field.data_type() {
            DataType::List(field) => Ok(field.data_type()),
            _ => Err(DataFusionError::Internal("a lambda makes lists".into())),
        }
    }

    fn list_of(&self, offsets: OffsetBuffer<i32>, elements: ArrayRef) -> Result<ArrayRef> {
        let DataType::List(field) = self.return_field.data_type() else {
            return Err(DataFusionError::Internal("a lambda makes lists".into()));
        };
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, elements, None)?))
    }
}

/// The elements whose value in `body` is true, and their number in each row.
fn filtered(list: &ListArray, body: &ArrayRef) -> Result<(OffsetBuffer<i32>, ArrayRef)> {
    let keeps = body.as_boolean_opt();
    let keeps =
        keeps.ok_or_else(|| DataFusionError::Internal("the body of a filter is a condition".into()))?;
    let is_kept = |element: usize| keeps.is_valid(element) && keeps.value(element);
    let ranges = list.offsets().windows(2);
    let lengths = ranges.map(|ends| (ends[0] as usize..ends[1] as usize).filter(|&at| is_kept(at)).count());
    Ok((OffsetBuffer::from_lengths(lengths), filter(list.values(), keeps)?))
}

/// The elements of every row in the order of `keys`; NULL is last in either direction.
fn sorted(list: &ListArray, keys: &ArrayRef, descending: bool) -> Result<ArrayRef> {
    let rows = list.offsets().lengths().enumerate();
    let origins: UInt32Array =
        rows.flat_map(|(row, length)| std::iter::repeat_n(row as u32, length)).collect();
    let places = UInt32Array::from_iter_values(0..origins.len() as u32);
    let column = |values: ArrayRef, descending| SortColumn {
        values,
        options: Some(SortOptions { descending, nulls_first: false }),
    };
    let columns = [
        column(Arc::new(origins), false),
        column(Arc::clone(keys), descending),
        column(Arc::new(places), false),
    ];
    Ok(take(list.values(), &lexsort_to_indices(&columns, None)?, None)?)
}

impl ScalarUDFImpl for LambdaCall {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.return_field.data_type().clone())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::clone(&self.return_field))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let is_constant = is_constant && self.signature.volatility != Volatility::Volatile;
        let rows = if is_constant { 1 } else { args.number_rows };
        let args = Args::of(&args.args, self.arrays)?;
        let spans = args.spans(rows);
        if args.elements(rows) > i32::MAX as usize {
            return Err(self.too_large(args.elements(rows)));
        }
        let parts = spans.into_iter().map(|span| self.rows(&args, span)).collect::<Result<Vec<_>>>()?;
        let lists = match parts.as_slice() {
            [] => self.list_of(OffsetBuffer::new_empty(), new_empty_array(self.element_type()?))?,
            [one] => Arc::clone(one),
            several => concat(&several.iter().map(AsRef::as_ref).collect::<Vec<_>>())?,
        };
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&lists, 0)?),
            false => ColumnarValue::Array(lists),
        })
    }
}

impl fmt::Debug for LambdaCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LambdaCall").field("name", &self.name).field("body", &self.body).finish()
    }
}

impl PartialEq for LambdaCall {
    fn eq(&self, other: &LambdaCall) -> bool {
        (&self.name, self.kind, &self.body, &self.columns)
            == (&other.name, other.kind, &other.body, &other.columns)
            && self.return_field == other.return_field
    }
}

impl Eq for LambdaCall {}

impl Hash for LambdaCall {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, self.kind, &self.body, &self.columns).hash(state);
    }
}
