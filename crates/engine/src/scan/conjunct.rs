//! A WHERE clause as a source evaluates it: AND taken apart, cheap and selective conditions first.
//!
//! A [`Conjunct`] reads only its own columns. Fallible ones (a division, a cast, `throwIf`) come after all others, in
//! their original order: they see only rows that passed the others.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Error, Result};
use basalt_exec::error::from_datafusion;
use basalt_functions::prewhere::Prewhere;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::ColumnarValue;

use super::estimate::{Estimate, estimate, is_told_by_text};

/// One condition of a conjunction.
#[derive(Clone, Debug)]
pub(crate) struct Conjunct {
    /// Over [`Conjunct::columns`], by their order there.
    expr: Arc<dyn PhysicalExpr>,
    /// Positions among the stored columns, ascending.
    pub(crate) columns: Vec<usize>,
    schema: SchemaRef,
    estimate: Estimate,
    /// Whether it is evaluated while columns are read, before others: it stands in PREWHERE, or was moved there.
    pub(crate) is_prewhere: bool,
    /// Whether it is of a row policy: no other condition sees rows that it leaves out.
    is_policy: bool,
}

impl Conjunct {
    /// `expr` is a condition over the stored columns, whose schema is `stored`.
    pub(crate) fn new(expr: &Arc<dyn PhysicalExpr>, stored: &Schema) -> Result<Conjunct> {
        let marked = Prewhere::condition(expr);
        let is_prewhere = marked.is_some();
        let (expr, is_policy) = marked.unwrap_or((expr, false));
        let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        columns.dedup();
        let schema = Arc::new(stored.project(&columns).map_err(Error::logical)?);
        let estimate = estimate(expr, stored);
        let place = |expr: Arc<dyn PhysicalExpr>| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            let at = columns.binary_search(&column.index()).unwrap_or_default();
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), at)) as Arc<dyn PhysicalExpr>))
        };
        let expr = Arc::clone(expr).transform_up(place).data().map_err(from_datafusion)?;
        Ok(Conjunct { expr, columns, schema, estimate, is_prewhere, is_policy })
    }

    /// The condition over [`Conjunct::columns`].
    pub(crate) fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// Whether the condition can end the query with an error for some value.
    pub(crate) fn is_fallible(&self) -> bool {
        self.estimate.fallible
    }

    /// The text of the condition with all bytes of its constants, of which the display shows the first ones.
    pub(crate) fn whole_text(&self) -> String {
        let mut text = self.to_string();
        push_bytes(&self.expr, &mut text);
        text
    }

    /// Whether two conditions with the same [`Conjunct::whole_text`] on the same columns are the same.
    pub(crate) fn is_told_by_text(&self) -> bool {
        is_told_by_text(&self.expr)
    }

    /// The rows for which the condition holds; NULL does not.
    pub(crate) fn evaluate(&self, arrays: Vec<ArrayRef>, rows: usize) -> Result<BooleanBuffer> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(Error::of_arrow)?;
        match self.expr.evaluate(&batch).map_err(from_datafusion)? {
            ColumnarValue::Array(flags) => {
                let flags = flags.as_boolean_opt().ok_or_else(|| not_boolean(self))?;
                Ok(known(flags))
            }
            ColumnarValue::Scalar(flag) => {
                let flag = flag.to_array().map_err(from_datafusion)?;
                let flag = flag.as_boolean_opt().ok_or_else(|| not_boolean(self))?;
                let holds = flag.is_valid(0) && flag.value(0);
                Ok(if holds { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) })
            }
        }
    }

    /// Cost for each row that it removes, when a value of column `i` costs `bytes(i)` to read.
    fn rank(&self, bytes: &impl Fn(usize) -> f64, is_read: &[usize]) -> f64 {
        let unread = self.columns.iter().filter(|column| !is_read.contains(column));
        let read: f64 = unread.map(|&column| bytes(column)).sum();
        (read + self.estimate.cost) / (1.0 - self.estimate.selectivity).max(0.01)
    }
}

impl fmt::Display for Conjunct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt_sql(f)
    }
}

/// Appends the bytes of binary constants, each after its length.
fn push_bytes(expr: &Arc<dyn PhysicalExpr>, text: &mut String) {
    if let Some(literal) = expr.downcast_ref::<Literal>()
        && let ScalarValue::BinaryView(Some(bytes)) | ScalarValue::FixedSizeBinary(_, Some(bytes)) =
            literal.value()
    {
        text.push_str(&format!(" {}:{}", bytes.len(), bytes.escape_ascii()));
    }
    expr.children().into_iter().for_each(|child| push_bytes(child, text));
}

fn not_boolean(conjunct: &Conjunct) -> Error {
    Error::logical(format!("the filter {conjunct} is not a condition"))
}

fn known(flags: &BooleanArray) -> BooleanBuffer {
    if flags.null_count() == 0 {
        flags.values().clone()
    } else {
        prep_null_mask_filter(flags).values().clone()
    }
}

/// The conditions of all of `filters`, in the order in which they are evaluated: those of row policies, then those of
/// PREWHERE. Without
/// `moves` the others stay in the order of the plan. With it they are ordered too, and count as PREWHERE if the query
/// has none.
pub(crate) fn conjuncts(
    filters: &[Arc<dyn PhysicalExpr>],
    stored: &Schema,
    bytes: impl Fn(usize) -> f64,
    moves: bool,
) -> Result<Vec<Conjunct>> {
    let all = filters.iter().flat_map(|filter| split_conjunction(filter));
    let all = all.map(|expr| Conjunct::new(expr, stored)).collect::<Result<Vec<_>>>()?;
    let (policies, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|conjunct| conjunct.is_policy);
    let (first, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|conjunct| conjunct.is_prewhere);
    let is_read = |conjuncts: &[Conjunct]| conjuncts.iter().flat_map(|one| one.columns.clone()).collect();
    if first.is_empty() && moves {
        rest.iter_mut().for_each(|conjunct| conjunct.is_prewhere = true);
    }
    let mut all = policies;
    all.extend(ordered(first, is_read(&all), &bytes));
    if moves {
        rest = ordered(rest, is_read(&all), &bytes);
    }
    all.extend(rest);
    Ok(all)
}

/// Cheap and selective conditions first, fallible ones last, where the columns `is_read` are read already.
fn ordered(all: Vec<Conjunct>, mut is_read: Vec<usize>, bytes: &impl Fn(usize) -> f64) -> Vec<Conjunct> {
    let (fallible, mut safe): (Vec<_>, Vec<_>) = all.into_iter().partition(Conjunct::is_fallible);
    let mut ordered = Vec::with_capacity(safe.len() + fallible.len());
    // A column that was read costs nothing more, so the next best is chosen step by step.
    while !safe.is_empty() {
        let rank = |at: &usize| safe[*at].rank(bytes, &is_read);
        let best = (0..safe.len()).min_by(|a, b| rank(a).total_cmp(&rank(b))).unwrap_or_default();
        let next = safe.remove(best);
        is_read.extend(&next.columns);
        ordered.push(next);
    }
    ordered.extend(fallible);
    ordered
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, Int32Array};
    use arrow::datatypes::{DataType, Field};
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, binary, col, lit};

    use super::*;

    fn stored() -> Schema {
        let number = |name: &str| Field::new(name, DataType::Int32, true);
        Schema::new(vec![number("a"), Field::new("s", DataType::BinaryView, false), number("b")])
    }

    fn compare(column: &str, op: Operator, value: ScalarValue) -> Arc<dyn PhysicalExpr> {
        let stored = stored();
        binary(col(column, &stored).unwrap(), op, lit(value), &stored).unwrap()
    }

    fn number(column: &str, op: Operator) -> Arc<dyn PhysicalExpr> {
        compare(column, op, ScalarValue::Int32(Some(1)))
    }

    fn text(op: Operator) -> Arc<dyn PhysicalExpr> {
        compare("s", op, ScalarValue::BinaryView(Some(b"x".to_vec())))
    }

    /// The columns of the conditions in the order in which they run.
    fn check(filters: Vec<Arc<dyn PhysicalExpr>>, expected: &[&[usize]]) {
        let all = filters.into_iter().reduce(|left, right| {
            Arc::new(BinaryExpr::new(left, Operator::And, right)) as Arc<dyn PhysicalExpr>
        });
        let bytes = |column: usize| if column == 1 { 50.0 } else { 4.0 };
        let ordered = conjuncts(&[all.unwrap()], &stored(), bytes, true).unwrap();
        let columns: Vec<&[usize]> = ordered.iter().map(|conjunct| &conjunct.columns[..]).collect();
        assert_eq!(columns, expected);
    }

    #[test]
    fn what_is_cheap_and_removes_much_runs_first() {
        check(vec![text(Operator::Eq), number("a", Operator::Gt)], &[&[0], &[1]]);
        check(vec![number("a", Operator::NotEq), number("b", Operator::Eq)], &[&[2], &[0]]);
        // A column that was read costs nothing more.
        check(
            vec![text(Operator::NotEq), text(Operator::Eq), number("a", Operator::NotEq)],
            &[&[0], &[1], &[1]],
        );
    }

    #[test]
    fn what_can_fail_runs_last_in_its_own_order() {
        let stored = stored();
        let cast = |column: &str| {
            let text = Arc::new(CastExpr::new(col(column, &stored).unwrap(), DataType::Utf8, None));
            let value = lit(ScalarValue::Utf8(Some("1".into())));
            Arc::new(BinaryExpr::new(text, Operator::Eq, value)) as Arc<dyn PhysicalExpr>
        };
        check(vec![cast("s"), cast("a"), text(Operator::NotEq)], &[&[1], &[1], &[0]]);
    }

    #[test]
    fn a_condition_sees_its_own_columns_and_null_is_no() {
        let both = BinaryExpr::new(number("b", Operator::Gt), Operator::Or, text(Operator::Eq));
        let conjunct = Conjunct::new(&(Arc::new(both) as Arc<dyn PhysicalExpr>), &stored()).unwrap();
        assert_eq!(conjunct.columns, [1, 2]);
        let texts: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["", "x", "", ""]));
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(2), None, None, Some(1)]));
        let rows = conjunct.evaluate(vec![texts, numbers], 4).unwrap();
        assert_eq!(rows.iter().collect::<Vec<_>>(), [true, true, false, false]);
    }
}
