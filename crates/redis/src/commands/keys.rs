//! Keys of any type: DEL, EXISTS, TYPE, RENAME, COPY, OBJECT.

use basalt_kv::Direction;

use crate::call::Call;
use crate::failure::{Failure, NO_SUCH_KEY, NOT_INTEGER, Outcome, SYNTAX};
use crate::keyspace::Head;
use crate::number::parse_integer;
use crate::table::{Kind, Part, Place, Record};
use crate::transaction::Flow;

pub(crate) fn del(call: &mut Call<'_, '_>) -> Outcome {
    let mut count = 0;
    for key in &call.words[1..] {
        let was_there = match call.row_of(key) {
            Some((table, key)) => table.delete(key)?,
            None => call.rows.remove(key, &Place::of(key))?,
        };
        count += i64::from(was_there);
    }
    call.integer(count)
}

pub(crate) fn exists(call: &mut Call<'_, '_>) -> Outcome {
    let mut count = 0;
    for key in &call.words[1..] {
        let is_there = match call.row_of(key) {
            Some((table, key)) => table.get(key)?.is_some(),
            None => call.rows.head(&Place::of(key))?.is_some(),
        };
        count += i64::from(is_there);
    }
    call.integer(count)
}

pub(crate) fn key_type(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let name = call.rows.head(&place)?.map_or("none", |head| head.kind.name());
    call.reply.simple(name);
    Ok(())
}

pub(crate) fn rename(call: &mut Call<'_, '_>) -> Outcome {
    let (from, to) = (call.words[1], call.words[2]);
    refuse_rows(call, to)?;
    let place = Place::of(from);
    let head = call.rows.head(&place)?.ok_or(NO_SUCH_KEY)?;
    if from != to {
        call.rows.remove(to, &Place::of(to))?;
        copy_rows(call, &place, head, to)?;
        call.rows.remove(from, &place)?;
    }
    call.ok()
}

pub(crate) fn renamenx(call: &mut Call<'_, '_>) -> Outcome {
    let (from, to) = (call.words[1], call.words[2]);
    refuse_rows(call, to)?;
    let place = Place::of(from);
    let head = call.rows.head(&place)?.ok_or(NO_SUCH_KEY)?;
    if call.rows.head(&Place::of(to))?.is_some() {
        return call.integer(0);
    }
    call.rows.remove(to, &Place::of(to))?;
    copy_rows(call, &place, head, to)?;
    call.rows.remove(from, &place)?;
    call.integer(1)
}

pub(crate) fn copy(call: &mut Call<'_, '_>) -> Outcome {
    let (from, to) = (call.words[1], call.words[2]);
    let (mut replace, mut number, mut at) = (false, i64::from(call.number), 3);
    while let Some(word) = call.words.get(at) {
        match word.to_ascii_uppercase().as_slice() {
            b"REPLACE" => replace = true,
            b"DB" => {
                at += 1;
                number = parse_integer(call.words.get(at).ok_or(SYNTAX)?).ok_or(NOT_INTEGER)?;
                if !(0..i64::from(call.host.databases())).contains(&number) {
                    return Err(Failure::text("ERR DB index is out of range"));
                }
            }
            _ => return Err(SYNTAX),
        }
        at += 1;
    }
    if number != i64::from(call.number) {
        return Err(Failure::text("ERR COPY to another database is not implemented"));
    }
    if from == to {
        return Err(Failure::text("ERR source and destination objects are the same"));
    }
    refuse_rows(call, to)?;
    let place = Place::of(from);
    let Some(head) = call.rows.head(&place)? else { return call.integer(0) };
    if call.rows.head(&Place::of(to))?.is_some() && !replace {
        return call.integer(0);
    }
    call.rows.remove(to, &Place::of(to))?;
    copy_rows(call, &place, head, to)?;
    call.integer(1)
}

/// A key of Redis cannot become a row of a table.
fn refuse_rows(call: &Call<'_, '_>, key: &[u8]) -> Outcome {
    match call.row_of(key) {
        Some(_) => Err(Failure::text("ERR the key names a row of a table, which this command cannot write")),
        None => Ok(()),
    }
}

/// Copies all rows of a key to another one that has none.
fn copy_rows(call: &mut Call<'_, '_>, from: &Place, head: Head, to: &[u8]) -> Outcome {
    let target = Place::of(to);
    let range = if head.kind == Kind::String { from.part(Part::Key) } else { from.all() };
    let mut copies = Vec::new();
    call.rows.scan(&range, Direction::Ascending, |key, row| {
        copies.push((
            [&target.head()[..target.head().len() - 1], &key[from.head().len() - 1..]].concat(),
            row.to_vec(),
        ));
        Ok::<_, Failure>(Flow::Next)
    })?;
    copies.into_iter().for_each(|(key, row)| call.rows.put(key, row));
    call.rows.changed(to);
    Ok(())
}

pub(crate) fn object(call: &mut Call<'_, '_>) -> Outcome {
    let what = call.words[1].to_ascii_uppercase();
    match (what.as_slice(), call.words.len()) {
        (b"ENCODING", 3) => {}
        (b"REFCOUNT" | b"IDLETIME" | b"FREQ", 3) => {
            return match call.rows.head(&Place::of(call.words[2]))? {
                None => {
                    call.reply.null();
                    Ok(())
                }
                Some(_) => call.integer(i64::from(what == b"REFCOUNT")),
            };
        }
        (b"ENCODING" | b"REFCOUNT" | b"IDLETIME" | b"FREQ", _) => {
            return Err(Failure::arity(&format!("object|{}", String::from_utf8_lossy(&what).to_lowercase())));
        }
        _ => return Err(Failure::subcommand(call.words[1], "OBJECT")),
    }
    let place = Place::of(call.words[2]);
    let Some(head) = call.rows.head(&place)? else {
        call.reply.null();
        return Ok(());
    };
    let name = match head.kind {
        Kind::String => call.rows.string(&place, string_encoding)?.unwrap_or("raw"),
        Kind::List => "quicklist",
        Kind::Set => "hashtable",
        Kind::Zset => "skiplist",
        Kind::Hash => "hashtable",
    };
    call.reply.bulk(name.as_bytes());
    Ok(())
}

fn string_encoding(value: &[u8]) -> &'static str {
    match value.len() {
        _ if parse_integer(value).is_some() => "int",
        0..=44 => "embstr",
        _ => "raw",
    }
}

/// Bytes of the rows of a key; of a collection those of its first row, and a guess for each element.
pub(crate) fn memory(call: &mut Call<'_, '_>) -> Outcome {
    /// Bytes of an element's key and row.
    const ELEMENT_BYTES: i64 = 64;
    if !call.words[1].eq_ignore_ascii_case(b"USAGE") || call.words.len() < 3 {
        return Err(Failure::subcommand(call.words[1], "MEMORY"));
    }
    let place = Place::of(call.words[2]);
    let Some(head) = call.rows.head(&place)? else {
        call.reply.null();
        return Ok(());
    };
    let row = call.rows.get(place.head(), |row| Record::decode(row).map(|record| record.value.len()))?;
    let value = row.transpose()?.unwrap_or(0);
    let bytes = i64::try_from(place.head().len() + value).unwrap_or(i64::MAX);
    call.integer(bytes.saturating_add(head.count.saturating_mul(ELEMENT_BYTES)))
}
