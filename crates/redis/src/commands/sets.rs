//! Sets: SADD, SREM, SMEMBERS, SPOP and the like.

use basalt_kv::Direction;

use crate::call::Call;
use crate::failure::{Failure, MUST_BE_POSITIVE, NOT_IN_RANGE, NOT_INTEGER, Outcome, SYNTAX};
use crate::number::parse_integer;
use crate::random::Random;
use crate::table::{Kind, Part, Place, Record};
use crate::transaction::Flow;

/// The most elements that are chosen with repetition.
const CHOSEN_MAX: i64 = 1 << 24;

pub(crate) fn has(call: &Call<'_, '_>, place: &Place, member: &[u8]) -> Outcome<bool> {
    Ok(call.rows.has(&place.element(Part::Member, member))?)
}

pub(crate) fn put(call: &mut Call<'_, '_>, place: &Place, member: &[u8]) {
    call.rows.put(place.element(Part::Member, member), Record::of(Kind::Set, b"").encode());
}

pub(crate) fn sadd(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let mut head = call.rows.begin(&place, Kind::Set)?;
    let before = head.count;
    for member in &call.words[2..] {
        if !has(call, &place, member)? {
            put(call, &place, member);
            head.count += 1;
        }
    }
    if head.count != before {
        call.rows.end(key, &place, &head);
    }
    call.integer(head.count - before)
}

pub(crate) fn srem(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    if call.rows.head_of(&place, Kind::Set)?.is_none() {
        return call.integer(0);
    }
    let removed = remove_members(call, &call.words[2..])?;
    call.integer(removed)
}

/// Removes members of the set that is the first key. Returns how many there were.
fn remove_members(call: &mut Call<'_, '_>, members: &[&[u8]]) -> Outcome<i64> {
    let (key, place) = call.key();
    let mut head = call.rows.begin(&place, Kind::Set)?;
    let before = head.count;
    for member in members {
        if has(call, &place, member)? {
            call.rows.delete(place.element(Part::Member, member));
            head.count -= 1;
        }
    }
    if head.count != before {
        call.rows.end(key, &place, &head);
    }
    Ok(before - head.count)
}

/// The members of a set, none if there is no such key.
pub(crate) fn members(call: &Call<'_, '_>, place: &Place) -> Outcome<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    if call.rows.head_of(place, Kind::Set)?.is_some() {
        call.rows.elements(place, &place.part(Part::Member), Direction::Ascending, |name, _| {
            found.push(name.to_vec());
            Ok(Flow::Next)
        })?;
    }
    Ok(found)
}

pub(crate) fn smembers(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let members = members(call, &place)?;
    show(call, &members)
}

pub(crate) fn show(call: &mut Call<'_, '_>, members: &[Vec<u8>]) -> Outcome {
    call.reply.set(members.len());
    for member in members {
        call.reply.bulk(member);
        call.check_room()?;
    }
    Ok(())
}

pub(crate) fn sismember(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let found = call.rows.head_of(&place, Kind::Set)?.is_some() && has(call, &place, call.words[2])?;
    call.flag(found)
}

pub(crate) fn smismember(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let is_there = call.rows.head_of(&place, Kind::Set)?.is_some();
    call.reply.array(call.words.len() - 2);
    for member in &call.words[2..] {
        let found = is_there && has(call, &place, member)?;
        call.flag(found)?;
    }
    Ok(())
}

pub(crate) fn scard(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let count = call.rows.head_of(&place, Kind::Set)?.map_or(0, |head| head.count);
    call.integer(count)
}

/// Indexes of random elements.
pub(crate) struct Chosen {
    pub(crate) places: Vec<usize>,
    /// Whether one element is asked for, without a count.
    pub(crate) is_single: bool,
}

/// Chooses among `total` elements: one, `count` different ones, or `-count` that may repeat.
pub(crate) fn chosen(total: i64, count: Option<i64>) -> Outcome<Chosen> {
    let mut random = Random::new();
    let total = usize::try_from(total).unwrap_or_default();
    let places = match count.unwrap_or(1) {
        _ if total == 0 => Vec::new(),
        count if count >= 0 => {
            let count = usize::try_from(count).unwrap_or(usize::MAX).min(total);
            random.sample(total, count)
        }
        count if count < -CHOSEN_MAX => return Err(NOT_IN_RANGE),
        count => (0..-count).map(|_| random.below(total)).collect(),
    };
    Ok(Chosen { places, is_single: count.is_none() })
}

/// The members at some places of the order of members.
fn members_at(call: &Call<'_, '_>, place: &Place, places: &[usize]) -> Outcome<Vec<Vec<u8>>> {
    let Some(last) = places.iter().max() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    call.rows.elements(place, &place.part(Part::Member), Direction::Ascending, |name, _| {
        found.push(name.to_vec());
        Ok(if found.len() > *last { Flow::Stop } else { Flow::Next })
    })?;
    Ok(places.iter().filter_map(|&at| found.get(at).cloned()).collect())
}

pub(crate) fn srandmember(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let count = match call.words.get(2) {
        _ if call.words.len() > 3 => return Err(SYNTAX),
        None => None,
        Some(word) => Some(parse_integer(word).ok_or(NOT_INTEGER)?),
    };
    if count == Some(i64::MIN) {
        return Err(NOT_IN_RANGE);
    }
    let total = call.rows.head_of(&place, Kind::Set)?.map_or(0, |head| head.count);
    let Chosen { places, is_single } = chosen(total, count)?;
    let members = members_at(call, &place, &places)?;
    if !is_single {
        call.reply.array(members.len());
        members.iter().for_each(|member| call.reply.bulk(member));
        return call.check_room();
    }
    show_single(call, members.first());
    Ok(())
}

fn show_single(call: &mut Call<'_, '_>, member: Option<&Vec<u8>>) {
    match member {
        Some(member) => call.reply.bulk(member),
        None => call.reply.null(),
    }
}

pub(crate) fn spop(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let count = match call.words.get(2) {
        _ if call.words.len() > 3 => return Err(SYNTAX),
        None => None,
        Some(word) => Some(parse_integer(word).filter(|&count| count >= 0).ok_or(MUST_BE_POSITIVE)?),
    };
    let total = call.rows.head_of(&place, Kind::Set)?.map_or(0, |head| head.count);
    let Chosen { places, is_single } = chosen(total, count)?;
    let members = members_at(call, &place, &places)?;
    if !members.is_empty() {
        let removed: Vec<&[u8]> = members.iter().map(Vec::as_slice).collect();
        remove_members(call, &removed)?;
    }
    if is_single {
        show_single(call, members.first());
        return Ok(());
    }
    show(call, &members)
}

pub(crate) fn smove(call: &mut Call<'_, '_>) -> Outcome {
    let (source, target, member) = (call.words[1], call.words[2], call.words[3]);
    if call.row_of(target).is_some() {
        return Err(Failure::text("ERR the key names a row of a table, which this command cannot write"));
    }
    let (place, target_place) = (Place::of(source), Place::of(target));
    let is_there = call.rows.head_of(&place, Kind::Set)?.is_some();
    if !is_there {
        return call.integer(0);
    }
    call.rows.head_of(&target_place, Kind::Set)?;
    if !has(call, &place, member)? {
        return call.integer(0);
    }
    if source != target {
        remove_members(call, &[member])?;
        let mut head = call.rows.begin(&target_place, Kind::Set)?;
        if !has(call, &target_place, member)? {
            put(call, &target_place, member);
            head.count += 1;
            call.rows.end(target, &target_place, &head);
        }
    }
    call.integer(1)
}
