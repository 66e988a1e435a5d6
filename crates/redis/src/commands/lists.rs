//! Lists at their ends, and read: LPUSH, RPOP, LRANGE and the like.

use basalt_kv::{ByteRange, Direction};

use crate::call::Call;
use crate::failure::{Failure, MUST_BE_POSITIVE, Outcome};
use crate::keyspace::Head;
use crate::number::{integer, parse_integer};
use crate::table::{Kind, Part, Place, Record, item_name};
use crate::transaction::Flow;

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Left,
    Right,
}

pub(crate) fn lpush(call: &mut Call<'_, '_>) -> Outcome {
    push_words(call, End::Left)
}

pub(crate) fn rpush(call: &mut Call<'_, '_>) -> Outcome {
    push_words(call, End::Right)
}

pub(crate) fn lpushx(call: &mut Call<'_, '_>) -> Outcome {
    push_if_there(call, End::Left)
}

pub(crate) fn rpushx(call: &mut Call<'_, '_>) -> Outcome {
    push_if_there(call, End::Right)
}

fn push_if_there(call: &mut Call<'_, '_>, end: End) -> Outcome {
    let (_, place) = call.key();
    match call.rows.head_of(&place, Kind::List)? {
        None => call.integer(0),
        Some(_) => push_words(call, end),
    }
}

fn push_words(call: &mut Call<'_, '_>, end: End) -> Outcome {
    let (key, place) = call.key();
    let mut head = call.rows.begin(&place, Kind::List)?;
    call.words[2..].iter().for_each(|item| push(call, &place, &mut head, item, end));
    call.rows.end(key, &place, &head);
    call.integer(head.count)
}

/// Adds an item. The caller writes the head.
pub(crate) fn push(call: &mut Call<'_, '_>, place: &Place, head: &mut Head, item: &[u8], end: End) {
    if end == End::Left {
        head.first = head.first.wrapping_sub(1);
    }
    head.count += 1;
    let index = if end == End::Left { 0 } else { head.count - 1 };
    put_item(call, place, head, index, item);
}

pub(crate) fn put_item(call: &mut Call<'_, '_>, place: &Place, head: &Head, index: i64, item: &[u8]) {
    call.rows.put(item_key(place, head, index), Record::of(Kind::List, item).encode());
}

/// The encoded key of the item at an index.
pub(crate) fn item_key(place: &Place, head: &Head, index: i64) -> Vec<u8> {
    place.element(Part::Item, &item_name(head.first.wrapping_add_signed(index)))
}

/// The item at an index; empty if SQL removed it.
pub(crate) fn item(call: &Call<'_, '_>, place: &Place, head: &Head, index: i64) -> Outcome<Vec<u8>> {
    let found = call
        .rows
        .get(&item_key(place, head, index), |row| Record::decode(row).map(|record| record.value.to_vec()))?;
    Ok(found.transpose()?.unwrap_or_default())
}

/// Removes the item at an end. The caller writes the head.
pub(crate) fn pop(call: &mut Call<'_, '_>, place: &Place, head: &mut Head, end: End) -> Outcome<Vec<u8>> {
    let index = if end == End::Left { 0 } else { head.count - 1 };
    let popped = item(call, place, head, index)?;
    call.rows.delete(item_key(place, head, index));
    if end == End::Left {
        head.first = head.first.wrapping_add(1);
    }
    head.count -= 1;
    Ok(popped)
}

pub(crate) fn lpop(call: &mut Call<'_, '_>) -> Outcome {
    pop_words(call, End::Left, "lpop")
}

pub(crate) fn rpop(call: &mut Call<'_, '_>) -> Outcome {
    pop_words(call, End::Right, "rpop")
}

fn pop_words(call: &mut Call<'_, '_>, end: End, command: &str) -> Outcome {
    let (key, place) = call.key();
    if call.words.len() > 3 {
        return Err(Failure::arity(command));
    }
    let count = match call.words.get(2) {
        None => None,
        Some(word) => Some(parse_integer(word).filter(|&count| count >= 0).ok_or(MUST_BE_POSITIVE)?),
    };
    let Some(mut head) = call.rows.head_of(&place, Kind::List)? else {
        match count {
            Some(_) => call.reply.null_array(),
            None => call.reply.null(),
        }
        return Ok(());
    };
    let popped = count.unwrap_or(1).min(head.count);
    if count.is_some() {
        call.reply.array(popped as usize);
    }
    for _ in 0..popped {
        let item = pop(call, &place, &mut head, end)?;
        call.reply.bulk(&item);
        call.check_room()?;
    }
    if popped > 0 {
        call.rows.end(key, &place, &head);
    }
    Ok(())
}

pub(crate) fn llen(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let count = call.rows.head_of(&place, Kind::List)?.map_or(0, |head| head.count);
    call.integer(count)
}

/// The indexes from `start` to before `end`, of bounds that count from the end if negative.
pub(crate) fn bounds(start: i64, end: i64, count: i64) -> (i64, i64) {
    let start = if start < 0 { start.saturating_add(count) } else { start }.max(0);
    let end = if end < 0 { end.saturating_add(count) } else { end }.min(count - 1);
    if start > end { (0, 0) } else { (start, end + 1) }
}

pub(crate) fn lrange(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let (start, end) = (integer(call.words[2])?, integer(call.words[3])?);
    let Some(head) = call.rows.head_of(&place, Kind::List)? else {
        call.reply.array(0);
        return Ok(());
    };
    let (start, end) = bounds(start, end, head.count);
    let (at, mut count) = (call.reply.out.len(), 0);
    let mut range = place.part(Part::Item);
    range.lower = item_key(&place, &head, start);
    let items = (end - start) as usize;
    let Call { rows, reply, .. } = call;
    if items > 0 {
        rows.elements(&place, &range, Direction::Ascending, |_, record| {
            reply.bulk(record.value);
            count += 1;
            if reply.out.len() - at > (512 << 20) {
                return Err(crate::failure::REPLY_TOO_LONG);
            }
            Ok(if count == items { Flow::Stop } else { Flow::Next })
        })?;
    }
    call.put_array_before(at, count);
    Ok(())
}

pub(crate) fn lindex(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let head = call.rows.head_of(&place, Kind::List)?;
    let index = match &head {
        // Redis looks at the index only if there is a list.
        None => 0,
        Some(_) => integer(call.words[2])?,
    };
    match head.and_then(|head| Some((resolve(index, head.count)?, head))) {
        Some((index, head)) => {
            let item = item(call, &place, &head, index)?;
            call.reply.bulk(&item);
        }
        None => call.reply.null(),
    }
    Ok(())
}

/// An index that counts from the end if negative.
pub(crate) fn resolve(index: i64, count: i64) -> Option<i64> {
    let index = if index < 0 { index.saturating_add(count) } else { index };
    (0..count).contains(&index).then_some(index)
}

/// All items of a list in order.
pub(crate) fn all_items(call: &Call<'_, '_>, place: &Place) -> Outcome<Vec<Vec<u8>>> {
    let mut items = Vec::new();
    let range: ByteRange = place.part(Part::Item);
    call.rows.elements(place, &range, Direction::Ascending, |_, record| {
        items.push(record.value.to_vec());
        Ok(Flow::Next)
    })?;
    Ok(items)
}
