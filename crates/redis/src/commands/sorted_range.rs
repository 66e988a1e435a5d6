//! Ranges of sorted sets: by rank, by score, by name; ZRANGE and its older forms, ZCOUNT, ZRANK.

use basalt_kv::{ByteRange, Direction};
use basalt_wire::resp::Version;

use super::lists::bounds;
use super::sorted::score;
use crate::call::Call;
use crate::failure::{Failure, NOT_INTEGER, Outcome, SYNTAX};
use crate::number::{integer, parse_double, parse_integer, print_double};
use crate::table::{Kind, Part, Place, score_bytes};
use crate::transaction::Flow;

/// What the bounds of a range are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Rank,
    Score,
    Name,
}

/// A range of a sorted set.
pub(crate) enum Bounds<'a> {
    Rank(i64, i64),
    /// The encoded scores from the first to before the second.
    Score([u8; 8], [u8; 8]),
    Name(NameBound<'a>, NameBound<'a>),
}

#[derive(Clone, Copy)]
pub(crate) enum NameBound<'a> {
    Least,
    Greatest,
    Including(&'a [u8]),
    Excluding(&'a [u8]),
}

impl<'a> NameBound<'a> {
    fn read(word: &'a [u8]) -> Outcome<NameBound<'a>> {
        match word {
            b"-" => Ok(NameBound::Least),
            b"+" => Ok(NameBound::Greatest),
            [b'[', name @ ..] => Ok(NameBound::Including(name)),
            [b'(', name @ ..] => Ok(NameBound::Excluding(name)),
            _ => Err(Failure::text("ERR min or max not valid string range item")),
        }
    }

    fn is_below(self, name: &[u8]) -> bool {
        match self {
            NameBound::Least => true,
            NameBound::Greatest => false,
            NameBound::Including(bound) => bound <= name,
            NameBound::Excluding(bound) => bound < name,
        }
    }

    fn is_above(self, name: &[u8]) -> bool {
        match self {
            NameBound::Least => false,
            NameBound::Greatest => true,
            NameBound::Including(bound) => name <= bound,
            NameBound::Excluding(bound) => name < bound,
        }
    }
}

/// A score, and whether it is excluded.
fn score_bound(word: &[u8]) -> Outcome<(f64, bool)> {
    let (text, excluded) = match word {
        [b'(', rest @ ..] => (rest, true),
        _ => (word, false),
    };
    let score = parse_double(text).ok_or(Failure::text("ERR min or max is not a float"))?;
    Ok((score, excluded))
}

/// The encoding of the score after this one.
fn after(score: f64) -> [u8; 8] {
    (u64::from_be_bytes(score_bytes(score)) + 1).to_be_bytes()
}

impl<'a> Bounds<'a> {
    pub(crate) fn read(by: By, least: &'a [u8], greatest: &'a [u8]) -> Outcome<Bounds<'a>> {
        Ok(match by {
            By::Rank => Bounds::Rank(integer(least)?, integer(greatest)?),
            By::Score => {
                let ((least, is_after), (greatest, is_before)) =
                    (score_bound(least)?, score_bound(greatest)?);
                let lower = if is_after { after(least) } else { score_bytes(least) };
                let upper = if is_before { score_bytes(greatest) } else { after(greatest) };
                Bounds::Score(lower, upper)
            }
            By::Name => Bounds::Name(NameBound::read(least)?, NameBound::read(greatest)?),
        })
    }
}

/// Some of the elements in a range.
pub(crate) struct Wanted<'a> {
    pub(crate) bounds: Bounds<'a>,
    pub(crate) direction: Direction,
    pub(crate) offset: i64,
    /// Negative: all.
    pub(crate) limit: i64,
}

/// The members in a range with their scores, in its direction. `count` is the number of members of the set.
pub(crate) fn find(
    call: &Call<'_, '_>,
    place: &Place,
    count: i64,
    wanted: &Wanted<'_>,
) -> Outcome<Vec<(Vec<u8>, f64)>> {
    let mut range = place.part(Part::Score);
    let (mut skipped, mut left) = (wanted.offset, wanted.limit);
    match wanted.bounds {
        Bounds::Rank(start, end) => {
            let (start, end) = bounds(start, end, count);
            (skipped, left) = (start, end - start);
        }
        Bounds::Score(lower, upper) => {
            let upper = place.element(Part::Score, &upper);
            range = ByteRange { lower: place.element(Part::Score, &lower), upper: Some(upper) };
        }
        Bounds::Name(..) => {}
    }
    let mut found = Vec::new();
    if skipped < 0 || left == 0 || range.upper.as_ref().is_some_and(|upper| *upper <= range.lower) {
        return Ok(found);
    }
    call.rows.elements(place, &range, wanted.direction, |name, record| {
        let member = name.get(size_of::<f64>()..).unwrap_or_default();
        if let Bounds::Name(least, greatest) = wanted.bounds
            && !(least.is_below(member) && greatest.is_above(member))
        {
            return Ok(Flow::Next);
        }
        if skipped > 0 {
            skipped -= 1;
            return Ok(Flow::Next);
        }
        found.push((member.to_vec(), record.score));
        left -= 1;
        Ok(if left == 0 { Flow::Stop } else { Flow::Next })
    })?;
    Ok(found)
}

pub(crate) fn zrange(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, None, None)
}

pub(crate) fn zrevrange(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, Some(By::Rank), Some(Direction::Descending))
}

pub(crate) fn zrangebyscore(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, Some(By::Score), Some(Direction::Ascending))
}

pub(crate) fn zrevrangebyscore(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, Some(By::Score), Some(Direction::Descending))
}

pub(crate) fn zrangebylex(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, Some(By::Name), Some(Direction::Ascending))
}

pub(crate) fn zrevrangebylex(call: &mut Call<'_, '_>) -> Outcome {
    answer(call, Some(By::Name), Some(Direction::Descending))
}

/// What the words after the bounds say.
struct Options {
    by: By,
    direction: Direction,
    offset: i64,
    limit: i64,
    with_scores: bool,
}

fn options(words: &[&[u8]], by: Option<By>, direction: Option<Direction>) -> Outcome<Options> {
    let (mut said_by, mut said_direction) = (by, direction);
    let (mut offset, mut limit, mut with_scores, mut at) = (0, -1, false, 4);
    while let Some(word) = words.get(at) {
        match (word.to_ascii_uppercase().as_slice(), &words[at + 1..]) {
            (b"WITHSCORES", _) => with_scores = true,
            (b"LIMIT", [from, count, ..]) => {
                offset = parse_integer(from).ok_or(NOT_INTEGER)?;
                limit = parse_integer(count).ok_or(NOT_INTEGER)?;
                at += 2;
            }
            (b"REV", _) if direction.is_none() => said_direction = Some(Direction::Descending),
            (b"BYSCORE", _) if by.is_none() => said_by = Some(By::Score),
            (b"BYLEX", _) if by.is_none() => said_by = Some(By::Name),
            _ => return Err(SYNTAX),
        }
        at += 1;
    }
    let (by, direction) = (said_by.unwrap_or(By::Rank), said_direction.unwrap_or(Direction::Ascending));
    if limit != -1 && by == By::Rank {
        return Err(Failure::text(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if with_scores && by == By::Name {
        return Err(Failure::text("ERR syntax error, WITHSCORES not supported in combination with BYLEX"));
    }
    Ok(Options { by, direction, offset, limit, with_scores })
}

fn answer(call: &mut Call<'_, '_>, by: Option<By>, direction: Option<Direction>) -> Outcome {
    let (_, place) = call.key();
    let Options { by, direction, offset, limit, with_scores } = options(call.words, by, direction)?;
    let (mut least, mut greatest) = (call.words[2], call.words[3]);
    if direction == Direction::Descending && by != By::Rank {
        (least, greatest) = (greatest, least);
    }
    let wanted = Wanted { bounds: Bounds::read(by, least, greatest)?, direction, offset, limit };
    let found = match call.rows.head_of(&place, Kind::Zset)? {
        Some(head) => find(call, &place, head.count, &wanted)?,
        None => Vec::new(),
    };
    show(call, &found, with_scores)
}

/// Members, or pairs of members and scores: one after the other in version 2.
pub(crate) fn show(call: &mut Call<'_, '_>, found: &[(Vec<u8>, f64)], with_scores: bool) -> Outcome {
    let is_3 = call.reply.version == Version::Resp3;
    call.reply.array(if with_scores && !is_3 { found.len() * 2 } else { found.len() });
    for (member, score) in found {
        if with_scores && is_3 {
            call.reply.array(2);
        }
        call.reply.bulk(member);
        if with_scores {
            call.reply.double(&print_double(*score));
        }
        call.check_room()?;
    }
    Ok(())
}

pub(crate) fn zcount(call: &mut Call<'_, '_>) -> Outcome {
    count(call, By::Score)
}

pub(crate) fn zlexcount(call: &mut Call<'_, '_>) -> Outcome {
    count(call, By::Name)
}

fn count(call: &mut Call<'_, '_>, by: By) -> Outcome {
    let (_, place) = call.key();
    let bounds = Bounds::read(by, call.words[2], call.words[3])?;
    let wanted = Wanted { bounds, direction: Direction::Ascending, offset: 0, limit: -1 };
    let found = match call.rows.head_of(&place, Kind::Zset)? {
        Some(head) => find(call, &place, head.count, &wanted)?.len(),
        None => 0,
    };
    call.integer(found as i64)
}

pub(crate) fn zrank(call: &mut Call<'_, '_>) -> Outcome {
    rank(call, Direction::Ascending)
}

pub(crate) fn zrevrank(call: &mut Call<'_, '_>) -> Outcome {
    rank(call, Direction::Descending)
}

fn rank(call: &mut Call<'_, '_>, direction: Direction) -> Outcome {
    let (_, place) = call.key();
    let member = call.words[2];
    let is_there = call.rows.head_of(&place, Kind::Zset)?.is_some() && score(call, &place, member)?.is_some();
    if !is_there {
        call.reply.null();
        return Ok(());
    }
    let mut rank = 0;
    call.rows.elements(&place, &place.part(Part::Score), direction, |name, _| {
        if name.get(size_of::<f64>()..) == Some(member) {
            return Ok(Flow::Stop);
        }
        rank += 1;
        Ok(Flow::Next)
    })?;
    call.integer(rank)
}
