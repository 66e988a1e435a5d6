//! Fields of hashes that are numbers, and random fields: HINCRBY, HINCRBYFLOAT, HRANDFIELD.

use basalt_kv::Direction;

use super::counters::float_sum;
use super::hashes::{field, put_fields};
use super::sets::{Chosen, chosen};
use crate::call::Call;
use crate::failure::{Failure, NOT_IN_RANGE, NOT_INTEGER, OVERFLOW, Outcome, SYNTAX};
use crate::number::{integer, parse_double, parse_integer};
use crate::table::{Kind, Part};
use crate::transaction::Flow;

pub(crate) fn hincrby(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let step = integer(call.words[3])?;
    let old = match call.rows.head_of(&place, Kind::Hash)? {
        Some(_) => field(call, &place, call.words[2], parse_integer)?,
        None => None,
    };
    let old = old.unwrap_or(Some(0)).ok_or(Failure::text("ERR hash value is not an integer"))?;
    let sum = old.checked_add(step).ok_or(OVERFLOW)?;
    let text = sum.to_string();
    put_fields(call, &[call.words[2], text.as_bytes()])?;
    call.integer(sum)
}

pub(crate) fn hincrbyfloat(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let step = parse_double(call.words[3]).ok_or(crate::failure::NOT_FLOAT)?;
    if !step.is_finite() {
        return Err(Failure::text("ERR value is NaN or Infinity"));
    }
    let old = match call.rows.head_of(&place, Kind::Hash)? {
        Some(_) => field(call, &place, call.words[2], <[u8]>::to_vec)?,
        None => None,
    };
    let old = old.unwrap_or_else(|| b"0".to_vec());
    let sum = float_sum(&old, call.words[3], Failure::text("ERR hash value is not a float"))?;
    put_fields(call, &[call.words[2], sum.as_bytes()])?;
    call.reply.bulk(sum.as_bytes());
    Ok(())
}

pub(crate) fn hrandfield(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let count = match call.words.get(2) {
        None => None,
        Some(word) => Some(parse_integer(word).ok_or(NOT_INTEGER)?),
    };
    let with_values = match call.words.get(3) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case(b"WITHVALUES") && call.words.len() == 4 => true,
        Some(_) => return Err(SYNTAX),
    };
    if count.is_some_and(|count| count < -(i64::MAX / 2)) {
        return Err(NOT_IN_RANGE);
    }
    let total = call.rows.head_of(&place, Kind::Hash)?.map_or(0, |head| head.count);
    let Chosen { places, is_single } = chosen(total, count)?;
    let mut fields = Vec::new();
    let mut at = 0;
    let wanted = places.iter().max().map_or(0, |&last| last + 1);
    call.rows.elements(&place, &place.part(Part::Field), Direction::Ascending, |name, record| {
        if at == wanted {
            return Ok(Flow::Stop);
        }
        fields.push((name.to_vec(), record.value.to_vec()));
        at += 1;
        Ok(Flow::Next)
    })?;
    let picked: Vec<_> = places.iter().filter_map(|&place| fields.get(place)).collect();
    if is_single {
        match picked.first() {
            Some((name, _)) => call.reply.bulk(name),
            None => call.reply.null(),
        }
        return Ok(());
    }
    let is_3 = call.reply.version == basalt_wire::resp::Version::Resp3;
    call.reply.array(if with_values && !is_3 { picked.len() * 2 } else { picked.len() });
    for (name, value) in picked {
        if with_values && is_3 {
            call.reply.array(2);
        }
        call.reply.bulk(name);
        if with_values {
            call.reply.bulk(value);
        }
        call.check_room()?;
    }
    Ok(())
}
