//! SCAN, HSCAN, SSCAN, ZSCAN: some rows at a time, from a cursor on.

use basalt_kv::{ByteRange, Direction};

use crate::call::Call;
use crate::failure::{Failure, NOT_INTEGER, Outcome, SYNTAX};
use crate::glob;
use crate::number::{parse_integer, print_double};
use crate::table::{Kind, Part, Place, Record};
use crate::transaction::Flow;

const COUNT_DEFAULT: usize = 10;

struct Options<'a> {
    pattern: Option<&'a [u8]>,
    count: usize,
    kind: Option<&'a [u8]>,
}

fn read_cursor(text: &[u8]) -> Outcome<u64> {
    let text = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    text.ok_or(Failure::text("ERR invalid cursor"))
}

/// The options from word `at` on.
fn options<'a>(words: &[&'a [u8]], mut at: usize, is_scan: bool) -> Outcome<Options<'a>> {
    let mut read = Options { pattern: None, count: COUNT_DEFAULT, kind: None };
    while let Some(word) = words.get(at) {
        let value = words.get(at + 1).ok_or(SYNTAX)?;
        match word.to_ascii_uppercase().as_slice() {
            b"MATCH" => read.pattern = Some(value),
            b"TYPE" if is_scan => read.kind = Some(value),
            b"COUNT" => {
                let count = parse_integer(value).ok_or(NOT_INTEGER)?;
                read.count = usize::try_from(count).ok().filter(|&count| count > 0).ok_or(SYNTAX)?;
            }
            _ => return Err(SYNTAX),
        }
        at += 2;
    }
    Ok(read)
}

/// The place of a cursor in a range; `None` if it was forgotten.
fn place_of(call: &Call<'_, '_>, cursor: u64) -> Outcome<Option<Vec<u8>>> {
    match cursor {
        0 => Ok(None),
        _ => match call.database.cursors.get(cursor) {
            Some(place) => Ok(Some(place)),
            None => Err(Failure::text("ERR the cursor is too old: begin again with 0")),
        },
    }
}

pub(crate) fn scan(call: &mut Call<'_, '_>) -> Outcome {
    let cursor = read_cursor(call.words[1])?;
    let options = options(call.words, 2, true)?;
    let lower = place_of(call, cursor)?.unwrap_or_default();
    let (now, mut seen, mut next, mut found) = (call.now(), 0, None, Vec::new());
    call.rows.each_head(&ByteRange { lower, upper: None }, |key, row, encoded| {
        if seen == options.count {
            next = Some(encoded.to_vec());
            return Ok(Flow::Stop);
        }
        seen += 1;
        let record = Record::decode(row)?;
        let is_wanted = options.pattern.is_none_or(|pattern| glob::matches(pattern, key))
            && options.kind.is_none_or(|kind| kind.eq_ignore_ascii_case(record.kind.name().as_bytes()));
        if is_wanted && !record.is_expired(now) {
            found.push(key.to_vec());
        }
        Ok(Flow::Next)
    })?;
    reply(call, next, &found)
}

fn reply(call: &mut Call<'_, '_>, next: Option<Vec<u8>>, found: &[Vec<u8>]) -> Outcome {
    let cursor = next.map_or(0, |place| call.database.cursors.add(place));
    call.reply.array(2);
    call.reply.bulk(itoa::Buffer::new().format(cursor).as_bytes());
    call.reply.array(found.len());
    for text in found {
        call.reply.bulk(text);
        call.check_room()?;
    }
    Ok(())
}

pub(crate) fn hscan(call: &mut Call<'_, '_>) -> Outcome {
    scan_elements(call, Kind::Hash, Part::Field, |found, record| found.push(record.value.to_vec()))
}

pub(crate) fn sscan(call: &mut Call<'_, '_>) -> Outcome {
    scan_elements(call, Kind::Set, Part::Member, |_, _| {})
}

pub(crate) fn zscan(call: &mut Call<'_, '_>) -> Outcome {
    scan_elements(call, Kind::Zset, Part::Member, |found, record| {
        found.push(print_double(record.score).into_bytes());
    })
}

fn scan_elements(
    call: &mut Call<'_, '_>,
    kind: Kind,
    part: Part,
    add: impl Fn(&mut Vec<Vec<u8>>, &Record<'_>),
) -> Outcome {
    let cursor = read_cursor(call.words[2])?;
    let place = Place::of(call.words[1]);
    if call.rows.head_of(&place, kind)?.is_none() {
        return reply(call, None, &[]);
    }
    let options = options(call.words, 3, false)?;
    let mut range = place.part(part);
    if let Some(lower) = place_of(call, cursor)? {
        // A cursor of another key begins at one of the ends.
        range.lower = lower.max(range.lower).min(place.after(part));
    }
    let (mut seen, mut next, mut found) = (0, None, Vec::new());
    call.rows.scan(&range, Direction::Ascending, |key, row| {
        if seen == options.count {
            next = Some(key.to_vec());
            return Ok::<_, Failure>(Flow::Stop);
        }
        seen += 1;
        let name = place.name(key);
        if options.pattern.is_none_or(|pattern| glob::matches(pattern, name)) {
            found.push(name.to_vec());
            add(&mut found, &Record::decode(row)?);
        }
        Ok(Flow::Next)
    })?;
    reply(call, next, &found)
}
