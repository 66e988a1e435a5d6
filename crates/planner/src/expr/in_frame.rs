//! `lagInFrame` and `leadInFrame`: a row at a distance, if the frame contains it.
//!
//! DataFusion's `lag` and `lead` see the whole partition. If the frame may be shorter, their result is used only when
//! the row is inside the frame. Counts over other frames of the window decide this.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_window::row_number;
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
};

use crate::bound_expr::{all_of, case, native_cast};

/// The direction of the row.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Toward {
    Start,
    End,
}

/// `shifted` if its row is in the frame of `window`, else `otherwise`.
pub(super) fn in_frame(
    shifted: Expr,
    toward: Toward,
    offset: i64,
    otherwise: Expr,
    window: &WindowFunctionParams,
) -> Expr {
    let frame = &window.window_frame;
    let (starts_first, ends_last) = (frame.start_bound.is_unbounded(), frame.end_bound.is_unbounded());
    let has_row = !matches!(frame.end_bound, WindowFrameBound::Preceding(_))
        && !matches!(&frame.start_bound, WindowFrameBound::Following(_));
    let mut conditions = Vec::new();
    let row = || integer(row_number_of(window));
    let place = match toward {
        Toward::Start => row() - number(offset),
        Toward::End => row() + number(offset),
    };
    if !ends_last && (toward == Toward::End || !has_row) {
        let up_to_end = count_of(window, first(), frame.end_bound.clone());
        conditions.push(place.clone().lt_eq(up_to_end));
    }
    if !starts_first && (toward == Toward::Start || !has_row) {
        let from_start = count_of(window, frame.start_bound.clone(), last());
        conditions.push((place + from_start).gt(count_of(window, first(), last())));
    }
    match all_of(conditions) {
        Some(condition) => case(vec![(condition, shifted)], otherwise),
        None => shifted,
    }
}

fn first() -> WindowFrameBound {
    WindowFrameBound::Preceding(ScalarValue::UInt64(None))
}

fn last() -> WindowFrameBound {
    WindowFrameBound::Following(ScalarValue::UInt64(None))
}

fn number(value: i64) -> Expr {
    Expr::Literal(ScalarValue::Int64(Some(value)), None)
}

fn integer(expr: Expr) -> Expr {
    native_cast(expr, DataType::Int64)
}

fn row_number_of(window: &WindowFunctionParams) -> Expr {
    let fun = WindowFunctionDefinition::WindowUDF(row_number::row_number_udwf());
    let frame = WindowFrame::new_bounds(WindowFrameUnits::Rows, first(), last());
    of_window(window, fun, Vec::new(), frame)
}

/// The number of rows between two bounds.
fn count_of(window: &WindowFunctionParams, start: WindowFrameBound, end: WindowFrameBound) -> Expr {
    let fun = WindowFunctionDefinition::AggregateUDF(count_udaf());
    let frame = WindowFrame::new_bounds(window.window_frame.units, start, end);
    of_window(window, fun, vec![number(1)], frame)
}

fn of_window(
    window: &WindowFunctionParams,
    fun: WindowFunctionDefinition,
    args: Vec<Expr>,
    window_frame: WindowFrame,
) -> Expr {
    let params = WindowFunctionParams { args, window_frame, filter: None, ..window.clone() };
    Expr::WindowFunction(Box::new(WindowFunction { fun, params }))
}
