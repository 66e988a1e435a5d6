//! Hashes: HGET, HSET and the like.

use basalt_kv::Direction;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::table::{Kind, Part, Place, Record};
use crate::transaction::Flow;

/// Whether the key is a hash that exists.
fn is_there(call: &Call<'_, '_>, place: &Place) -> Outcome<bool> {
    Ok(call.rows.head_of(place, Kind::Hash)?.is_some())
}

/// Calls `visit` with the value of a field.
pub(crate) fn field<T>(
    call: &Call<'_, '_>,
    place: &Place,
    name: &[u8],
    visit: impl FnOnce(&[u8]) -> T,
) -> Outcome<Option<T>> {
    let found = call.rows.get(&place.element(Part::Field, name), |row| {
        Record::decode(row).map(|record| visit(record.value))
    })?;
    Ok(found.transpose()?)
}

pub(crate) fn hget(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let value = match is_there(call, &place)? {
        true => field(call, &place, call.words[2], <[u8]>::to_vec)?,
        false => None,
    };
    match value {
        Some(value) => call.reply.bulk(&value),
        None => call.reply.null(),
    }
    Ok(())
}

pub(crate) fn hmget(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let is_there = is_there(call, &place)?;
    call.reply.array(call.words.len() - 2);
    for name in &call.words[2..] {
        let value = if is_there { field(call, &place, name, <[u8]>::to_vec)? } else { None };
        match value {
            Some(value) => call.reply.bulk(&value),
            None => call.reply.null(),
        }
        call.check_room()?;
    }
    Ok(())
}

/// Sets fields and returns how many are new.
pub(crate) fn put_fields(call: &mut Call<'_, '_>, pairs: &[&[u8]]) -> Outcome<i64> {
    let (key, place) = call.key();
    let mut head = call.rows.begin(&place, Kind::Hash)?;
    let before = head.count;
    for pair in pairs.chunks_exact(2) {
        let encoded = place.element(Part::Field, pair[0]);
        head.count += i64::from(!call.rows.has(&encoded)?);
        call.rows.put(encoded, Record::of(Kind::Hash, pair[1]).encode());
    }
    if head.count == before {
        // The first row stays as it is.
        call.rows.changed(key);
    } else {
        call.rows.end(key, &place, &head);
    }
    Ok(head.count - before)
}

pub(crate) fn hset(call: &mut Call<'_, '_>) -> Outcome {
    if call.words.len() % 2 == 1 {
        return Err(Failure::arity("hset"));
    }
    let added = put_fields(call, &call.words[2..])?;
    call.integer(added)
}

pub(crate) fn hmset(call: &mut Call<'_, '_>) -> Outcome {
    if call.words.len() % 2 == 1 {
        return Err(Failure::arity("hmset"));
    }
    put_fields(call, &call.words[2..])?;
    call.ok()
}

pub(crate) fn hsetnx(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    if is_there(call, &place)? && call.rows.has(&place.element(Part::Field, call.words[2]))? {
        return call.integer(0);
    }
    put_fields(call, &call.words[2..])?;
    call.integer(1)
}

/// What a command shows of each field.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Names,
    Values,
    Both,
}

pub(crate) fn hgetall(call: &mut Call<'_, '_>) -> Outcome {
    show(call, Shown::Both)
}

pub(crate) fn hkeys(call: &mut Call<'_, '_>) -> Outcome {
    show(call, Shown::Names)
}

pub(crate) fn hvals(call: &mut Call<'_, '_>) -> Outcome {
    show(call, Shown::Values)
}

fn show(call: &mut Call<'_, '_>, shown: Shown) -> Outcome {
    let (_, place) = call.key();
    let (start, mut count) = (call.reply.out.len(), 0);
    if is_there(call, &place)? {
        let Call { rows, reply, .. } = call;
        rows.elements(&place, &place.part(Part::Field), Direction::Ascending, |name, record| {
            if shown != Shown::Values {
                reply.bulk(name);
            }
            if shown != Shown::Names {
                reply.bulk(record.value);
            }
            count += 1;
            let is_long = reply.out.len() - start > (512 << 20);
            if is_long { Err(crate::failure::REPLY_TOO_LONG) } else { Ok(Flow::Next) }
        })?;
    }
    call.put_before(start, |reply| if shown == Shown::Both { reply.map(count) } else { reply.array(count) });
    Ok(())
}

pub(crate) fn hdel(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let Some(mut head) = call.rows.head_of(&place, Kind::Hash)? else { return call.integer(0) };
    let before = head.count;
    for name in &call.words[2..] {
        let encoded = place.element(Part::Field, name);
        if call.rows.has(&encoded)? {
            call.rows.delete(encoded);
            head.count -= 1;
        }
    }
    if head.count != before {
        call.rows.end(key, &place, &head);
    }
    call.integer(before - head.count)
}

pub(crate) fn hexists(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let found = is_there(call, &place)? && call.rows.has(&place.element(Part::Field, call.words[2]))?;
    call.flag(found)
}

pub(crate) fn hlen(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let count = call.rows.head_of(&place, Kind::Hash)?.map_or(0, |head| head.count);
    call.integer(count)
}

pub(crate) fn hstrlen(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let length = match is_there(call, &place)? {
        true => field(call, &place, call.words[2], <[u8]>::len)?.unwrap_or(0),
        false => 0,
    };
    call.integer(length as i64)
}
