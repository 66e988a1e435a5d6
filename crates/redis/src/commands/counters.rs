//! Strings that are numbers: INCR and the like.

use crate::call::Call;
use crate::failure::{Failure, NOT_FINITE, NOT_FLOAT, NOT_INTEGER, OVERFLOW, Outcome};
use crate::long_double::LongDouble;
use crate::number::{integer, parse_double, parse_integer};

pub(crate) fn incr(call: &mut Call<'_, '_>) -> Outcome {
    add(call, 1)
}

pub(crate) fn decr(call: &mut Call<'_, '_>) -> Outcome {
    add(call, -1)
}

pub(crate) fn incrby(call: &mut Call<'_, '_>) -> Outcome {
    let step = integer(call.words[2])?;
    add(call, step)
}

pub(crate) fn decrby(call: &mut Call<'_, '_>) -> Outcome {
    let step = integer(call.words[2])?;
    add(call, step.checked_neg().ok_or(Failure::text("ERR decrement would overflow"))?)
}

fn add(call: &mut Call<'_, '_>, step: i64) -> Outcome {
    let (key, place) = call.key();
    let old = call.rows.string_record(&place, |record| (parse_integer(record.value), record.expires_at))?;
    let (value, expires_at) = old.unwrap_or((Some(0), 0));
    let sum = value.ok_or(NOT_INTEGER)?.checked_add(step).ok_or(OVERFLOW)?;
    call.rows.put_string(key, &place, itoa::Buffer::new().format(sum).as_bytes(), expires_at)?;
    call.integer(sum)
}

pub(crate) fn incrbyfloat(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let old = call.rows.string_record(&place, |record| (record.value.to_vec(), record.expires_at))?;
    let (value, expires_at) = old.unwrap_or((b"0".to_vec(), 0));
    let sum = float_sum(&value, call.words[2], NOT_FLOAT)?;
    call.rows.put_string(key, &place, sum.as_bytes(), expires_at)?;
    call.reply.bulk(sum.as_bytes());
    Ok(())
}

/// The sum of two texts; `not_float` if the first is no number.
pub(crate) fn float_sum(value: &[u8], step: &[u8], not_float: Failure) -> Outcome<String> {
    let left = parse_double(value).ok_or(not_float)?;
    let right = parse_double(step).ok_or(NOT_FLOAT)?;
    if !(left + right).is_finite() {
        return Err(NOT_FINITE);
    }
    match (LongDouble::parse(value), LongDouble::parse(step)) {
        (Some(left), Some(right)) => Ok(left.add(right).print()),
        _ => Err(NOT_FLOAT),
    }
}
