//! Lists are changed inside, or an item moves to another list: LSET, LTRIM, LREM, LINSERT, LMOVE.

use super::lists::{End, all_items, bounds, item_key, pop, push, put_item, resolve};
use crate::call::Call;
use crate::failure::{Failure, NO_SUCH_KEY, OUT_OF_RANGE, Outcome, SYNTAX, WRONG_TYPE};
use crate::keyspace::Head;
use crate::number::integer;
use crate::table::{Kind, Place};

pub(crate) fn lset(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let head = call.rows.head_of(&place, Kind::List)?.ok_or(NO_SUCH_KEY)?;
    let index = resolve(integer(call.words[2])?, head.count).ok_or(OUT_OF_RANGE)?;
    put_item(call, &place, &head, index, call.words[3]);
    call.rows.changed(key);
    call.ok()
}

pub(crate) fn ltrim(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let (start, end) = (integer(call.words[2])?, integer(call.words[3])?);
    let Some(mut head) = call.rows.head_of(&place, Kind::List)? else { return call.ok() };
    let (start, end) = bounds(start, end, head.count);
    for index in (0..start).chain(end..head.count) {
        call.rows.delete(item_key(&place, &head, index));
    }
    head.first = head.first.wrapping_add_signed(start);
    head.count = end - start;
    call.rows.end(key, &place, &head);
    call.ok()
}

pub(crate) fn lrem(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let wanted = integer(call.words[2])?;
    let Some(mut head) = call.rows.head_of(&place, Kind::List)? else { return call.integer(0) };
    let items = all_items(call, &place)?;
    let most = match wanted {
        0 => usize::MAX,
        _ => usize::try_from(wanted.unsigned_abs()).unwrap_or(usize::MAX),
    };
    let equal =
        items.iter().enumerate().filter(|(_, item)| item.as_slice() == call.words[3]).map(|(at, _)| at);
    let removed: Vec<usize> = match wanted < 0 {
        true => equal.rev().take(most).collect(),
        false => equal.take(most).collect(),
    };
    if removed.is_empty() {
        return call.integer(0);
    }
    let mut is_removed = vec![false; items.len()];
    removed.iter().for_each(|&at| is_removed[at] = true);
    let kept = items.iter().zip(&is_removed).filter(|(_, is_removed)| !**is_removed).map(|(item, _)| item);
    let kept: Vec<&Vec<u8>> = kept.collect();
    let (mut index, first) = (0, is_removed.iter().position(|&is_removed| is_removed).unwrap_or(0));
    for item in kept {
        if index >= first {
            put_item(call, &place, &head, index as i64, item);
        }
        index += 1;
    }
    (index as i64..head.count).for_each(|at| call.rows.delete(item_key(&place, &head, at)));
    head.count = index as i64;
    call.rows.end(key, &place, &head);
    call.integer(removed.len() as i64)
}

pub(crate) fn linsert(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let after = match call.words[2].to_ascii_uppercase().as_slice() {
        b"BEFORE" => 0,
        b"AFTER" => 1,
        _ => return Err(SYNTAX),
    };
    let Some(mut head) = call.rows.head_of(&place, Kind::List)? else { return call.integer(0) };
    let items = all_items(call, &place)?;
    let Some(at) = items.iter().position(|item| item.as_slice() == call.words[3]) else {
        return call.integer(-1);
    };
    let at = at + after;
    // The items of the shorter side move by one.
    if at < items.len() / 2 {
        head.first = head.first.wrapping_sub(1);
        head.count += 1;
        items[..at]
            .iter()
            .enumerate()
            .for_each(|(index, item)| put_item(call, &place, &head, index as i64, item));
    } else {
        head.count += 1;
        let moved = items.iter().enumerate().skip(at);
        moved.for_each(|(index, item)| put_item(call, &place, &head, index as i64 + 1, item));
    }
    put_item(call, &place, &head, at as i64, call.words[4]);
    call.rows.end(key, &place, &head);
    call.integer(head.count)
}

pub(crate) fn rpoplpush(call: &mut Call<'_, '_>) -> Outcome {
    move_item(call, End::Right, End::Left)
}

pub(crate) fn lmove(call: &mut Call<'_, '_>) -> Outcome {
    let (from, to) = (read_end(call.words[3])?, read_end(call.words[4])?);
    move_item(call, from, to)
}

fn read_end(word: &[u8]) -> Outcome<End> {
    match word.to_ascii_uppercase().as_slice() {
        b"LEFT" => Ok(End::Left),
        b"RIGHT" => Ok(End::Right),
        _ => Err(SYNTAX),
    }
}

fn move_item(call: &mut Call<'_, '_>, from: End, to: End) -> Outcome {
    let (source, target) = (call.words[1], call.words[2]);
    if call.row_of(target).is_some() {
        return Err(Failure::text("ERR the key names a row of a table, which this command cannot write"));
    }
    let (place, target_place) = (Place::of(source), Place::of(target));
    let Some(mut head) = call.rows.head_of(&place, Kind::List)? else {
        call.reply.null();
        return Ok(());
    };
    if call.rows.head(&target_place)?.is_some_and(|head: Head| head.kind != Kind::List) {
        return Err(WRONG_TYPE);
    }
    let item = pop(call, &place, &mut head, from)?;
    if source == target {
        push(call, &place, &mut head, &item, to);
        call.rows.end(source, &place, &head);
    } else {
        call.rows.end(source, &place, &head);
        let mut head = call.rows.begin(&target_place, Kind::List)?;
        push(call, &target_place, &mut head, &item, to);
        call.rows.end(target, &target_place, &head);
    }
    call.reply.bulk(&item);
    Ok(())
}
