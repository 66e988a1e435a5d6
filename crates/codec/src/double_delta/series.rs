//! A series as its first value, its first step, and the changes of all further steps.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use crate::value::{load, store, zigzag};

/// Appends the trailing bytes, the first value and the first step; returns the changes of the steps after it, if
/// there are any.
pub(super) fn split<const WIDTH: usize>(input: &[u8], out: &mut Vec<u8>) -> Option<Vec<u64>> {
    let (values, tail) = input.as_chunks::<WIDTH>();
    out.extend_from_slice(tail);
    let (first, values) = values.split_first()?;
    out.extend_from_slice(first);
    let (second, values) = values.split_first()?;
    let mut before = load(second);
    let mut step = before.wrapping_sub(load(first));
    out.extend_from_slice(&store::<WIDTH>(step));
    let changes = values.iter().map(|value| {
        let value = load(value);
        let new_step = value.wrapping_sub(before);
        let change = zigzag::<WIDTH>(new_step.wrapping_sub(step));
        (before, step) = (value, new_step);
        change
    });
    (!values.is_empty()).then(|| changes.collect())
}

/// The last value and step of a series, and the output for the rest.
pub(super) struct Series<'a, const WIDTH: usize> {
    pub(super) value: u64,
    pub(super) step: u64,
    pub(super) values: &'a mut [[u8; WIDTH]],
}

/// The inverse of `split`: returns the rest of the input and the series to continue. `None` if the input ends
/// early.
pub(super) fn join<'i, 'o, const WIDTH: usize>(
    input: &'i [u8],
    out: &'o mut [u8],
) -> Option<(&'i [u8], Series<'o, WIDTH>)> {
    let (values, out_tail) = out.as_chunks_mut::<WIDTH>();
    let (tail, input) = input.split_at_checked(out_tail.len())?;
    out_tail.copy_from_slice(tail);
    let Some((first, values)) = values.split_first_mut() else {
        return Some((input, Series { value: 0, step: 0, values: &mut [] }));
    };
    let (stored, input) = input.split_first_chunk::<WIDTH>()?;
    *first = *stored;
    let value = load(stored);
    let Some((second, values)) = values.split_first_mut() else {
        return Some((input, Series { value, step: 0, values: &mut [] }));
    };
    let (stored, input) = input.split_first_chunk::<WIDTH>()?;
    let step = load(stored);
    let value = value.wrapping_add(step);
    *second = store(value);
    Some((input, Series { value, step, values }))
}
