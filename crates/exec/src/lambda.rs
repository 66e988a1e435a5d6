//! Functions that take a lambda: the body is computed once for all elements of a block's arrays.
//!
//! `arrayMap((x, y) -> x + y + c, xs, ys)` becomes a call over `xs`, `ys` and the captured `c`. The
//! elements of all rows stand in one batch, `c` is repeated for each element, and the body is an
//! ordinary expression over that batch.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use basalt_base::{Error, ErrorCode};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{SortColumn, SortOptions, filter, lexsort_to_indices, take};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use crate::error::into_datafusion;

/// What is made of the elements and the values of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LambdaKind {
    /// The values of the body.
    Map,
    /// The elements of the first array for which the body, a Boolean, is true.
    Filter,
    /// The elements of the first array, in the order of the body's values; equal ones stay in order.
    Sort { descending: bool },
}

/// One call of a function that takes a lambda. Its arguments are the arrays, then what is captured.
pub struct LambdaCall {
    /// The function as SQL names it.
    pub name: String,
    pub kind: LambdaKind,
    pub body: Expr,
    /// The columns of the body: one an argument, elements first.
    pub columns: Vec<String>,
    /// How many of the arguments are arrays.
    pub arrays: usize,
    pub return_field: FieldRef,
    signature: Signature,
    /// Compiled for the types of the first block.
    compiled: OnceLock<Arc<dyn PhysicalExpr>>,
}

impl LambdaCall {
    /// The function; `return_field` is that of the list.
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

    /// The lists of the arguments, whose lengths must be equal, and one batch of all elements.
    fn elements(&self, args: &[ArrayRef]) -> Result<(Vec<ListArray>, RecordBatch)> {
        let lists = args[..self.arrays].iter().map(compact).collect::<Result<Vec<_>>>()?;
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
        let rows = first.offsets().lengths().enumerate();
        let origins: UInt32Array =
            rows.flat_map(|(row, length)| std::iter::repeat_n(row as u32, length)).collect();
        let mut columns: Vec<ArrayRef> = lists.iter().map(|list| Arc::clone(list.values())).collect();
        for captured in &args[self.arrays..] {
            columns.push(take(captured, &origins, None)?);
        }
        let fields: Vec<Field> = self
            .columns
            .iter()
            .zip(&columns)
            .map(|(name, column)| Field::new(name, column.data_type().clone(), true))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(origins.len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        Ok((lists, batch))
    }

    fn list_of(&self, offsets: OffsetBuffer<i32>, elements: ArrayRef) -> Result<ArrayRef> {
        let DataType::List(field) = self.return_field.data_type() else {
            return Err(DataFusionError::Internal("a lambda makes lists".into()));
        };
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, elements, None)?))
    }
}

/// The list without what lies before its first or behind its last element.
fn compact(array: &ArrayRef) -> Result<ListArray> {
    let list = array.as_list_opt::<i32>();
    let list = list.ok_or_else(|| DataFusionError::Internal("a lambda takes lists".into()))?;
    let offsets = OffsetBuffer::from_lengths(list.offsets().lengths());
    let (start, length) = (list.offsets()[0] as usize, offsets[list.len()] as usize);
    let DataType::List(field) = list.data_type() else {
        return Err(DataFusionError::Internal("a lambda takes lists".into()));
    };
    Ok(ListArray::try_new(Arc::clone(field), offsets, list.values().slice(start, length), None)?)
}

/// The elements whose value in `body` is true, and how many there are of each row.
fn filtered(list: &ListArray, body: &ArrayRef) -> Result<(OffsetBuffer<i32>, ArrayRef)> {
    let keeps = body.as_boolean_opt();
    let keeps =
        keeps.ok_or_else(|| DataFusionError::Internal("the body of a filter is a condition".into()))?;
    let is_kept = |element: usize| keeps.is_valid(element) && keeps.value(element);
    let ranges = list.offsets().windows(2);
    let lengths = ranges.map(|ends| (ends[0] as usize..ends[1] as usize).filter(|&at| is_kept(at)).count());
    Ok((OffsetBuffer::from_lengths(lengths), filter(list.values(), keeps)?))
}

/// The elements of every row in the order of `keys`; NULL is last either way.
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
        let rows = args.number_rows;
        let args = args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let (lists, batch) = self.elements(&args)?;
        let body = self.compiled(batch.schema_ref())?.evaluate(&batch)?.into_array(batch.num_rows())?;
        let first = &lists[0];
        let (offsets, elements) = match self.kind {
            LambdaKind::Map => (first.offsets().clone(), body),
            LambdaKind::Filter => filtered(first, &body)?,
            LambdaKind::Sort { descending } => (first.offsets().clone(), sorted(first, &body, descending)?),
        };
        Ok(ColumnarValue::Array(self.list_of(offsets, elements)?))
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
