//! Sets of sets: SINTER, SUNION, SDIFF, and their forms that store.

use std::collections::BTreeSet;

use super::sets::{has, members, put, show};
use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::table::{Kind, Place};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Intersection,
    Union,
    Difference,
}

pub(crate) fn sinter(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, Operation::Intersection)
}

pub(crate) fn sunion(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, Operation::Union)
}

pub(crate) fn sdiff(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, Operation::Difference)
}

pub(crate) fn sinterstore(call: &mut Call<'_, '_>) -> Outcome {
    store(call, Operation::Intersection)
}

pub(crate) fn sunionstore(call: &mut Call<'_, '_>) -> Outcome {
    store(call, Operation::Union)
}

pub(crate) fn sdiffstore(call: &mut Call<'_, '_>) -> Outcome {
    store(call, Operation::Difference)
}

fn answer(call: &mut Call<'_, '_>, operation: Operation) -> Outcome {
    let found = combined(call, &call.words[1..], operation)?;
    show(call, &found)
}

fn store(call: &mut Call<'_, '_>, operation: Operation) -> Outcome {
    let (key, place) = call.key();
    let found = combined(call, &call.words[2..], operation)?;
    call.rows.remove(key, &place)?;
    let mut head = call.rows.begin(&place, Kind::Set)?;
    if !found.is_empty() {
        found.iter().for_each(|member| put(call, &place, member));
        head.count = found.len() as i64;
        call.rows.end(key, &place, &head);
    }
    call.integer(found.len() as i64)
}

fn combined(call: &Call<'_, '_>, keys: &[&[u8]], operation: Operation) -> Outcome<Vec<Vec<u8>>> {
    if keys.iter().any(|key| call.row_of(key).is_some()) {
        return Err(Failure::text("ERR the key names a row of a table, which is no set"));
    }
    let places: Vec<Place> = keys.iter().map(|key| Place::of(key)).collect();
    let mut counts = Vec::new();
    for place in &places {
        counts.push(call.rows.head_of(place, Kind::Set)?.map_or(0, |head| head.count));
    }
    match operation {
        Operation::Union => {
            let mut all = BTreeSet::new();
            for place in &places {
                all.extend(members(call, place)?);
            }
            Ok(all.into_iter().collect())
        }
        Operation::Intersection if counts.contains(&0) => Ok(Vec::new()),
        Operation::Intersection => {
            let smallest = (0..places.len()).min_by_key(|&at| counts[at]).unwrap_or_default();
            let others = |at: usize| at != smallest;
            filtered(call, &places, smallest, |in_other| in_other, others)
        }
        Operation::Difference => {
            filtered(call, &places, 0, |in_other| !in_other, |at| at != 0 && counts[at] > 0)
        }
    }
}

/// The members of one set that `wanted` accepts by whether each of the others has them.
fn filtered(
    call: &Call<'_, '_>,
    places: &[Place],
    from: usize,
    wanted: impl Fn(bool) -> bool,
    is_other: impl Fn(usize) -> bool,
) -> Outcome<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    'members: for member in members(call, &places[from])? {
        for (_, place) in places.iter().enumerate().filter(|(at, _)| is_other(*at)) {
            if !wanted(has(call, place, &member)?) {
                continue 'members;
            }
        }
        found.push(member);
    }
    Ok(found)
}
