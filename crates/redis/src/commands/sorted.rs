//! Sorted sets: ZADD, ZINCRBY, ZSCORE, ZCARD.

use crate::call::Call;
use crate::failure::{Failure, NOT_FLOAT, Outcome, SYNTAX};
use crate::number::{parse_double, print_double};
use crate::table::{Kind, Part, Place, Record, score_bytes};

const NOT_A_NUMBER: Failure = Failure::text("ERR resulting score is not a number (NaN)");

pub(crate) fn score(call: &Call<'_, '_>, place: &Place, member: &[u8]) -> Outcome<Option<f64>> {
    let found = call
        .rows
        .get(&place.element(Part::Member, member), |row| Record::decode(row).map(|record| record.score))?;
    Ok(found.transpose()?)
}

fn ordered_key(place: &Place, member: &[u8], score: f64) -> Vec<u8> {
    place.element(Part::Score, &[&score_bytes(score), member].concat())
}

/// Sets the score of a member that had `old`.
fn put(call: &mut Call<'_, '_>, place: &Place, member: &[u8], old: Option<f64>, score: f64) {
    if let Some(old) = old {
        call.rows.delete(ordered_key(place, member, old));
    }
    let record = Record { score, ..Record::of(Kind::Zset, b"") };
    call.rows.put(place.element(Part::Member, member), record.encode());
    let ordered = Record { value: member, ..record };
    call.rows.put(ordered_key(place, member, score), ordered.encode());
}

pub(crate) fn delete(call: &mut Call<'_, '_>, place: &Place, member: &[u8], score: f64) {
    call.rows.delete(place.element(Part::Member, member));
    call.rows.delete(ordered_key(place, member, score));
}

/// The options of ZADD.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
    changed: bool,
    incr: bool,
}

impl Options {
    /// The options and the place of the first score.
    fn read(words: &[&[u8]]) -> Outcome<(Options, usize)> {
        let (mut read, mut at) = (Options::default(), 2);
        while let Some(word) = words.get(at) {
            match word.to_ascii_uppercase().as_slice() {
                b"NX" => read.nx = true,
                b"XX" => read.xx = true,
                b"GT" => read.gt = true,
                b"LT" => read.lt = true,
                b"CH" => read.changed = true,
                b"INCR" => read.incr = true,
                _ => break,
            }
            at += 1;
        }
        let pairs = words.len() - at;
        if pairs == 0 || pairs % 2 == 1 {
            return Err(SYNTAX);
        }
        if read.nx && read.xx {
            return Err(Failure::text("ERR XX and NX options at the same time are not compatible"));
        }
        if [read.nx, read.gt, read.lt].iter().filter(|said| **said).count() > 1 {
            return Err(Failure::text("ERR GT, LT, and/or NX options at the same time are not compatible"));
        }
        if read.incr && pairs > 2 {
            return Err(Failure::text("ERR INCR option supports a single increment-element pair"));
        }
        Ok((read, at))
    }

    /// The score that a member gets, if it may change.
    fn new_score(self, old: Option<f64>, given: f64) -> Outcome<Option<f64>> {
        let new = match old {
            Some(old) if self.incr => old + given,
            _ => given,
        };
        if new.is_nan() {
            return Err(NOT_A_NUMBER);
        }
        let is_allowed = match old {
            None => !self.xx,
            Some(old) => !(self.nx || self.gt && new <= old || self.lt && new >= old),
        };
        Ok(is_allowed.then_some(new))
    }
}

pub(crate) fn zadd(call: &mut Call<'_, '_>) -> Outcome {
    let (options, at) = Options::read(call.words)?;
    add(call, options, at)
}

pub(crate) fn zincrby(call: &mut Call<'_, '_>) -> Outcome {
    add(call, Options { incr: true, ..Options::default() }, 2)
}

fn add(call: &mut Call<'_, '_>, options: Options, at: usize) -> Outcome {
    let (key, place) = call.key();
    let mut pairs = Vec::new();
    for pair in call.words[at..].chunks_exact(2) {
        // There is one zero.
        pairs.push((parse_double(pair[0]).ok_or(NOT_FLOAT)? + 0.0, pair[1]));
    }
    let mut head = call.rows.begin(&place, Kind::Zset)?;
    let (mut added, mut updated, mut last) = (0, 0, None);
    for (given, member) in pairs {
        let old = score(call, &place, member)?;
        let new = options.new_score(old, given)?;
        last = new;
        let Some(new) = new else { continue };
        match old {
            Some(old) if old == new => continue,
            Some(_) => updated += 1,
            None => added += 1,
        }
        put(call, &place, member, old, new);
    }
    head.count += added;
    match (added, updated) {
        (0, 0) => {}
        (0, _) => call.rows.changed(key),
        _ => call.rows.end(key, &place, &head),
    }
    if !options.incr {
        return call.integer(if options.changed { added + updated } else { added });
    }
    match last {
        Some(score) => call.reply.double(&print_double(score)),
        None => call.reply.null(),
    }
    Ok(())
}

pub(crate) fn zscore(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let found = match call.rows.head_of(&place, Kind::Zset)? {
        Some(_) => score(call, &place, call.words[2])?,
        None => None,
    };
    show_score(call, found);
    Ok(())
}

fn show_score(call: &mut Call<'_, '_>, score: Option<f64>) {
    match score {
        Some(score) => call.reply.double(&print_double(score)),
        None => call.reply.null(),
    }
}

pub(crate) fn zmscore(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let is_there = call.rows.head_of(&place, Kind::Zset)?.is_some();
    call.reply.array(call.words.len() - 2);
    for member in &call.words[2..] {
        let found = if is_there { score(call, &place, member)? } else { None };
        show_score(call, found);
    }
    Ok(())
}

pub(crate) fn zcard(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let count = call.rows.head_of(&place, Kind::Zset)?.map_or(0, |head| head.count);
    call.integer(count)
}
