//! The conformance test of aggregate functions. One group, many groups, merged partial states, rows converted to
//! states, and groups emitted in steps all give the same results, over blocks with and without NULLs.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int32Array, UInt32Array, new_null_array};
use arrow::array::{BinaryViewArray, ListArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, filter, take};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use basalt_base::SqlType;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::groups::Groups;
use super::nullable::NullableStates;
use super::single::SingleGroup;
use super::{AggregateFunction, NullRule, Parameter, States, all, distinct};

const ROWS: usize = 300;
const GROUPS: usize = 7;

/// A column of each carrier; every fifth value is NULL if `nullable`.
fn column(ty: &SqlType, seed: usize) -> ArrayRef {
    let number = |row: usize| (row * 7_919 + seed * 104_729) % 97;
    let is_null = |row: usize| ty.accepts_null() && (row + seed).is_multiple_of(5);
    let rows = 0..ROWS;
    let array: ArrayRef = match ty.stripped() {
        SqlType::Int32 => {
            Arc::new(Int32Array::from_iter(rows.map(|row| (!is_null(row)).then(|| number(row) as i32 - 48))))
        }
        SqlType::UInt64 => {
            Arc::new(UInt64Array::from_iter(rows.map(|row| (!is_null(row)).then(|| number(row) as u64))))
        }
        SqlType::DateTime(_) => {
            Arc::new(UInt32Array::from_iter(rows.map(|row| (!is_null(row)).then(|| number(row) as u32))))
        }
        SqlType::Float64 => Arc::new(Float64Array::from_iter(
            rows.map(|row| (!is_null(row)).then(|| number(row) as f64 / 4.0)),
        )),
        SqlType::Bool => {
            Arc::new(BooleanArray::from_iter(rows.map(|row| (!is_null(row)).then(|| number(row) % 2 == 0))))
        }
        SqlType::String => Arc::new(BinaryViewArray::from_iter(
            rows.map(|row| (!is_null(row)).then(|| format!("a string with the number {}", number(row)))),
        )),
        SqlType::Array(_) => {
            let lengths: Vec<usize> = rows.map(|row| number(row) % 4).collect();
            let elements =
                Int32Array::from_iter_values((0..lengths.iter().sum::<usize>()).map(|i| i as i32 % 3));
            let offsets = OffsetBuffer::from_lengths(lengths);
            let field = SqlType::Int32.element_field();
            Arc::new(ListArray::new(field, offsets, Arc::new(elements), None))
        }
        other => unreachable!("no column of type {other}"),
    };
    array
}

fn types() -> Vec<SqlType> {
    let plain = [
        SqlType::Int32,
        SqlType::UInt64,
        SqlType::DateTime(None),
        SqlType::Float64,
        SqlType::Bool,
        SqlType::String,
    ];
    let nullable = plain.iter().cloned().map(SqlType::into_nullable).collect::<Vec<_>>();
    plain.into_iter().chain(nullable).chain([SqlType::array_of(SqlType::Int32)]).collect()
}

/// The states that `BoundAggregate` makes, without DataFusion.
fn states_of(
    function: &dyn AggregateFunction,
    parameters: &[Parameter],
    args: &[SqlType],
) -> Option<Box<dyn States>> {
    let plain: Vec<SqlType> = args.iter().map(|ty| ty.stripped().clone()).collect();
    let bound = function.bind(parameters, &plain).ok()?;
    let inner = (bound.states)();
    if !args.iter().any(SqlType::accepts_null) {
        return Some(inner);
    }
    let null_if_empty =
        function.nulls() == NullRule::SkipOrNull && bound.return_type.into_nullable().accepts_null();
    Some(Box::new(NullableStates::new(inner, null_if_empty)))
}

/// Results as text. Array elements are sorted, because sets have no order.
fn print(array: &ArrayRef) -> Vec<String> {
    let formatter = ArrayFormatter::try_new(array.as_ref(), &FormatOptions::new().with_null("NULL")).unwrap();
    let sorted = |text: String| {
        let mut items: Vec<&str> = text.trim_matches(['[', ']']).split(", ").collect();
        items.sort_unstable();
        items.join(", ")
    };
    (0..array.len()).map(|row| sorted(formatter.value(row).to_string())).collect()
}

fn groups_of_rows() -> Vec<usize> {
    (0..ROWS).map(|row| row * row % GROUPS).collect()
}

fn slices(args: &[ArrayRef], from: usize, to: usize) -> Vec<ArrayRef> {
    args.iter().map(|arg| arg.slice(from, to - from)).collect()
}

/// All groups at once, in blocks of 64 rows.
fn grouped(states: Box<dyn States>, args: &[ArrayRef], keeps: Option<&BooleanArray>) -> Groups {
    let mut groups = Groups::new(states);
    let indices = groups_of_rows();
    for from in (0..ROWS).step_by(64) {
        let to = (from + 64).min(ROWS);
        let keeps = keeps.map(|keeps| keeps.slice(from, to - from));
        groups.update_batch(&slices(args, from, to), &indices[from..to], keeps.as_ref(), GROUPS).unwrap();
    }
    groups
}

fn check(function: &dyn AggregateFunction, parameters: &[Parameter], types: &[SqlType]) -> bool {
    let Some(states) = states_of(function, parameters, types) else { return false };
    let args: Vec<ArrayRef> = types.iter().enumerate().map(|(seed, ty)| column(ty, seed)).collect();
    let name = format!("{} of {types:?}", function.name());
    let fresh = || states.fresh();
    let expected = print(&grouped(fresh(), &args, None).evaluate(EmitTo::All).unwrap());
    assert_eq!(expected.len(), GROUPS, "{name}");

    emits_in_steps(&name, grouped(fresh(), &args, None), &expected);
    travels(&name, &fresh, &args, &expected);
    rows_become_states(&name, &fresh, &args, &expected);
    each_group_alone(&name, &fresh, &args, &expected);
    filters(&name, &fresh, &args);
    let size = grouped(fresh(), &args, None).size();
    assert!(size > GROUPS && size < 1 << 20, "{name} claims {size} bytes");
    true
}

fn emits_in_steps(name: &str, mut groups: Groups, expected: &[String]) {
    let first = print(&groups.evaluate(EmitTo::First(2)).unwrap());
    let second = print(&groups.evaluate(EmitTo::First(3)).unwrap());
    let rest = print(&groups.evaluate(EmitTo::All).unwrap());
    assert_eq!([first, second, rest].concat(), expected, "{name}: emitted in steps");
}

/// Aggregates two halves separately, and merges their states into a third that has seen no row.
fn travels(name: &str, fresh: &dyn Fn() -> Box<dyn States>, args: &[ArrayRef], expected: &[String]) {
    let indices = groups_of_rows();
    let mut merged = Groups::new(fresh());
    for (from, to) in [(0, ROWS / 2), (ROWS / 2, ROWS)] {
        let mut half = Groups::new(fresh());
        half.update_batch(&slices(args, from, to), &indices[from..to], None, GROUPS).unwrap();
        let state = half.state(EmitTo::All).unwrap();
        merged.merge_batch(&state, &(0..GROUPS).collect::<Vec<_>>(), GROUPS).unwrap();
    }
    assert_eq!(print(&merged.evaluate(EmitTo::All).unwrap()), expected, "{name}: merged states");
}

fn rows_become_states(
    name: &str,
    fresh: &dyn Fn() -> Box<dyn States>,
    args: &[ArrayRef],
    expected: &[String],
) {
    let state = Groups::new(fresh()).convert_to_state(args, None).unwrap();
    let mut merged = Groups::new(fresh());
    merged.merge_batch(&state, &groups_of_rows(), GROUPS).unwrap();
    assert_eq!(print(&merged.evaluate(EmitTo::All).unwrap()), expected, "{name}: rows as states");
}

fn each_group_alone(name: &str, fresh: &dyn Fn() -> Box<dyn States>, args: &[ArrayRef], expected: &[String]) {
    let indices = groups_of_rows();
    for (group, expected) in expected.iter().enumerate() {
        let rows = UInt32Array::from_iter_values(
            (0..ROWS).filter(|&row| indices[row] == group).map(|row| row as u32),
        );
        let args: Vec<ArrayRef> = args.iter().map(|arg| take(arg, &rows, None).unwrap()).collect();
        let half = rows.len() / 2;
        let mut single = SingleGroup::new(fresh());
        single.update_batch(&slices(&args, 0, half)).unwrap();
        let mut other = SingleGroup::new(fresh());
        other.update_batch(&slices(&args, half, rows.len())).unwrap();
        let state: Vec<ArrayRef> =
            other.state().unwrap().iter().map(|value| value.to_array().unwrap()).collect();
        single.merge_batch(&state).unwrap();
        let result = single.evaluate().unwrap().to_array().unwrap();
        assert_eq!(&print(&result)[0], expected, "{name}: group {group} alone");
    }
}

/// A filter has the effect of removing the rows, and a group without rows has the empty result.
fn filters(name: &str, fresh: &dyn Fn() -> Box<dyn States>, args: &[ArrayRef]) {
    let indices = groups_of_rows();
    let keeps = BooleanArray::from_iter(
        indices.iter().enumerate().map(|(row, group)| Some(row % 3 != 0 && *group != 4)),
    );
    let filtered = print(&grouped(fresh(), args, Some(&keeps)).evaluate(EmitTo::All).unwrap());
    let kept: Vec<ArrayRef> = args.iter().map(|arg| filter(arg, &keeps).unwrap()).collect();
    let kept_groups: Vec<usize> = (0..ROWS).filter(|&row| keeps.value(row)).map(|row| indices[row]).collect();
    let mut groups = Groups::new(fresh());
    groups.update_batch(&kept, &kept_groups, None, GROUPS).unwrap();
    assert_eq!(filtered, print(&groups.evaluate(EmitTo::All).unwrap()), "{name}: filtered");
    let empty = SingleGroup::new(fresh()).evaluate().unwrap().to_array().unwrap();
    assert_eq!(filtered[4], print(&empty)[0], "{name}: an empty group");
}

#[test]
fn every_function_agrees_with_itself() {
    let forms = all().iter().filter_map(|&function| distinct(function));
    for function in all().iter().copied().chain(forms) {
        let mut fits = 0;
        for first in types() {
            fits += usize::from(check(function, &[], std::slice::from_ref(&first)));
            for second in [SqlType::Int32, SqlType::String.into_nullable()] {
                fits += usize::from(check(function, &[], &[first.clone(), second]));
            }
        }
        assert!(fits > 0, "{} takes none of the types", function.name());
    }
}

#[test]
fn nulls_alone_give_null_or_the_empty_result() {
    for function in all() {
        let ty = SqlType::Float64.into_nullable();
        let Some(states) = states_of(*function, &[], std::slice::from_ref(&ty)) else { continue };
        let mut single = SingleGroup::new(states.fresh());
        single.update_batch(&[new_null_array(&ty.carrier(), 3)]).unwrap();
        let of_nulls = print(&single.evaluate().unwrap().to_array().unwrap());
        let of_nothing = print(&SingleGroup::new(states).evaluate().unwrap().to_array().unwrap());
        assert_eq!(of_nulls, of_nothing, "{}", function.name());
        let null_if_empty = function.nulls() == NullRule::SkipOrNull;
        let of_arrays = function.name().starts_with("quantiles");
        assert_eq!(of_nulls[0] == "NULL", null_if_empty && !of_arrays, "{}", function.name());
    }
}

#[test]
fn group_array_keeps_order_and_limit() {
    let limit = Parameter { ty: SqlType::UInt8, value: Arc::new(arrow::array::UInt8Array::from(vec![3])) };
    let states = states_of(&super::group_array::GroupArray, &[limit], &[SqlType::Int32]).unwrap();
    let mut single = SingleGroup::new(states);
    for block in [vec![5, 4], vec![3, 2, 1]] {
        single.update_batch(&[Arc::new(Int32Array::from(block))]).unwrap();
    }
    let result = single.evaluate().unwrap().to_array().unwrap();
    let list = arrow::array::AsArray::as_list::<i32>(&result);
    assert_eq!(concat(&[list.values().as_ref()]).unwrap().as_ref(), &Int32Array::from(vec![5, 4, 3]));
}
