//! Strings are written: SET and its variants, MSET, GETEX.

use crate::call::Call;
use crate::commands::expiry::{Unit, expiry_of};
use crate::failure::{Failure, Outcome, SYNTAX};
use crate::table::Place;

/// What becomes of the time of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    /// SET removes it, GETEX keeps it.
    Unsaid,
    Keep,
    Remove,
    At(u64),
}

pub(crate) fn set(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let (mut expiry, mut condition, mut wants_old) = (Expiry::Unsaid, None, false);
    let mut at = 3;
    while let Some(word) = call.words.get(at) {
        match word.to_ascii_uppercase().as_slice() {
            b"NX" if condition != Some(true) => condition = Some(false),
            b"XX" if condition != Some(false) => condition = Some(true),
            b"GET" => wants_old = true,
            b"KEEPTTL" if matches!(expiry, Expiry::Unsaid | Expiry::Keep) => expiry = Expiry::Keep,
            _ => {
                expiry = read_expiry(call, at, expiry, "set")?;
                at += 1;
            }
        }
        at += 1;
    }
    let head = call.rows.head(&place)?;
    if wants_old {
        super::strings::get(call)?;
    }
    if condition.is_some_and(|must_exist| must_exist != head.is_some()) {
        if !wants_old {
            call.reply.null();
        }
        return Ok(());
    }
    let expires_at = match expiry {
        Expiry::At(time) => time,
        Expiry::Keep => head.map_or(0, |head| head.expires_at),
        _ => 0,
    };
    call.rows.put_string(key, &place, call.words[2], expires_at)?;
    if wants_old { Ok(()) } else { call.ok() }
}

/// An option with a time: EX, PX, EXAT or PXAT at this word. Options that were before it are refused, but times are
/// checked when all options are known.
fn read_expiry(call: &Call<'_, '_>, at: usize, before: Expiry, command: &str) -> Outcome<Expiry> {
    let unit = match call.words[at].to_ascii_uppercase().as_slice() {
        b"EX" => Unit::Seconds,
        b"PX" => Unit::Milliseconds,
        b"EXAT" => Unit::SecondsAt,
        b"PXAT" => Unit::MillisecondsAt,
        _ => return Err(SYNTAX),
    };
    let time = call.words.get(at + 1).ok_or(SYNTAX)?;
    if before != Expiry::Unsaid {
        return Err(SYNTAX);
    }
    // Words that follow may be wrong: that error comes first.
    let rest = &call.words[at + 2..];
    let known: &[&[u8]] = &[b"NX", b"XX", b"GET"];
    if rest.iter().any(|word| !known.iter().any(|known| word.eq_ignore_ascii_case(known)))
        || command == "getex" && !rest.is_empty()
    {
        return Err(SYNTAX);
    }
    expiry_of(time, unit, call.now(), command).map(Expiry::At)
}

pub(crate) fn setnx(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    if call.rows.head(&place)?.is_some() {
        return call.integer(0);
    }
    call.rows.put_string(key, &place, call.words[2], 0)?;
    call.integer(1)
}

pub(crate) fn setex(call: &mut Call<'_, '_>) -> Outcome {
    set_with(call, Unit::Seconds, "setex")
}

pub(crate) fn psetex(call: &mut Call<'_, '_>) -> Outcome {
    set_with(call, Unit::Milliseconds, "psetex")
}

fn set_with(call: &mut Call<'_, '_>, unit: Unit, command: &str) -> Outcome {
    let (key, place) = call.key();
    let expires_at = expiry_of(call.words[2], unit, call.now(), command)?;
    call.rows.put_string(key, &place, call.words[3], expires_at)?;
    call.ok()
}

pub(crate) fn getset(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    super::strings::get(call)?;
    call.rows.put_string(key, &place, call.words[2], 0)
}

pub(crate) fn getex(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let expiry = match call.words.get(2) {
        None => Expiry::Unsaid,
        Some(word) if word.eq_ignore_ascii_case(b"PERSIST") && call.words.len() == 3 => Expiry::Remove,
        Some(_) => read_expiry(call, 2, Expiry::Unsaid, "getex")?,
    };
    super::strings::get(call)?;
    let Some(head) = call.rows.head(&place)? else { return Ok(()) };
    match expiry {
        Expiry::At(time) if time <= call.now() => call.rows.remove(key, &place).map(|_| ()),
        Expiry::At(time) => call.rows.set_expiry(key, &place, time),
        Expiry::Remove if head.expires_at != 0 => call.rows.set_expiry(key, &place, 0),
        _ => Ok(()),
    }
}

pub(crate) fn mset(call: &mut Call<'_, '_>) -> Outcome {
    put_pairs(call, "mset")?;
    call.ok()
}

pub(crate) fn msetnx(call: &mut Call<'_, '_>) -> Outcome {
    if call.words.len().is_multiple_of(2) {
        return Err(Failure::arity("msetnx"));
    }
    for key in call.words[1..].iter().step_by(2) {
        if call.rows.head(&Place::of(key))?.is_some() {
            return call.integer(0);
        }
    }
    put_pairs(call, "msetnx")?;
    call.integer(1)
}

fn put_pairs(call: &mut Call<'_, '_>, command: &str) -> Outcome {
    if call.words.len().is_multiple_of(2) {
        return Err(Failure::arity(command));
    }
    for pair in call.words[1..].chunks_exact(2) {
        call.rows.put_string(pair[0], &Place::of(pair[0]), pair[1], 0)?;
    }
    Ok(())
}
