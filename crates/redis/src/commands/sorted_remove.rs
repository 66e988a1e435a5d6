//! Members of sorted sets are removed: ZREM, ZPOPMIN, ZREMRANGEBYSCORE and the like.

use basalt_kv::Direction;
use basalt_wire::resp::Version;

use super::sorted::{delete, score};
use super::sorted_range::{Bounds, By, Wanted, find, show};
use crate::call::Call;
use crate::failure::{Failure, MUST_BE_POSITIVE, Outcome};
use crate::number::{parse_integer, print_double};
use crate::table::Kind;

pub(crate) fn zrem(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let Some(mut head) = call.rows.head_of(&place, Kind::Zset)? else { return call.integer(0) };
    let before = head.count;
    for member in &call.words[2..] {
        if let Some(score) = score(call, &place, member)? {
            delete(call, &place, member, score);
            head.count -= 1;
        }
    }
    if head.count != before {
        call.rows.end(key, &place, &head);
    }
    call.integer(before - head.count)
}

/// Removes the members in a range and returns them.
fn remove(call: &mut Call<'_, '_>, wanted: &Wanted<'_>) -> Outcome<Vec<(Vec<u8>, f64)>> {
    let (key, place) = call.key();
    let Some(mut head) = call.rows.head_of(&place, Kind::Zset)? else { return Ok(Vec::new()) };
    let found = find(call, &place, head.count, wanted)?;
    found.iter().for_each(|(member, score)| delete(call, &place, member, *score));
    if !found.is_empty() {
        head.count -= found.len() as i64;
        call.rows.end(key, &place, &head);
    }
    Ok(found)
}

pub(crate) fn zremrangebyrank(call: &mut Call<'_, '_>) -> Outcome {
    remove_range(call, By::Rank)
}

pub(crate) fn zremrangebyscore(call: &mut Call<'_, '_>) -> Outcome {
    remove_range(call, By::Score)
}

pub(crate) fn zremrangebylex(call: &mut Call<'_, '_>) -> Outcome {
    remove_range(call, By::Name)
}

fn remove_range(call: &mut Call<'_, '_>, by: By) -> Outcome {
    let bounds = Bounds::read(by, call.words[2], call.words[3])?;
    let wanted = Wanted { bounds, direction: Direction::Ascending, offset: 0, limit: -1 };
    let removed = remove(call, &wanted)?.len();
    call.integer(removed as i64)
}

pub(crate) fn zpopmin(call: &mut Call<'_, '_>) -> Outcome {
    pop(call, Direction::Ascending, "zpopmin")
}

pub(crate) fn zpopmax(call: &mut Call<'_, '_>) -> Outcome {
    pop(call, Direction::Descending, "zpopmax")
}

fn pop(call: &mut Call<'_, '_>, direction: Direction, command: &str) -> Outcome {
    if call.words.len() > 3 {
        return Err(Failure::arity(command));
    }
    let count = match call.words.get(2) {
        None => None,
        Some(word) => Some(parse_integer(word).filter(|&count| count >= 0).ok_or(MUST_BE_POSITIVE)?),
    };
    let most = count.unwrap_or(1);
    // An empty range of ranks would be the whole set.
    let bounds = if most == 0 { Bounds::Rank(1, 0) } else { Bounds::Rank(0, most - 1) };
    let popped = remove(call, &Wanted { bounds, direction, offset: 0, limit: -1 })?;
    if count.is_some() || call.reply.version == Version::Resp2 {
        return show(call, &popped, true);
    }
    call.reply.array(popped.len() * 2);
    for (member, score) in &popped {
        call.reply.bulk(member);
        call.reply.double(&print_double(*score));
    }
    Ok(())
}
