//! Times of keys: EXPIRE, TTL and the like.

use crate::call::Call;
use crate::failure::{Failure, NOT_INTEGER, Outcome};
use crate::number::parse_integer;

/// How a time is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    SecondsAt,
    MillisecondsAt,
}

impl Unit {
    fn is_seconds(self) -> bool {
        matches!(self, Unit::Seconds | Unit::SecondsAt)
    }

    fn is_relative(self) -> bool {
        matches!(self, Unit::Seconds | Unit::Milliseconds)
    }

    /// Milliseconds since 1970; `None` if they do not fit.
    fn time(self, value: i64, now: u64) -> Option<i64> {
        let value = if self.is_seconds() { value.checked_mul(1000)? } else { value };
        let now = if self.is_relative() { i64::try_from(now).ok()? } else { 0 };
        value.checked_add(now)
    }
}

/// The time of SET and the like: it must be positive.
pub(crate) fn expiry_of(text: &[u8], unit: Unit, now: u64, command: &str) -> Outcome<u64> {
    let value = parse_integer(text).ok_or(NOT_INTEGER)?;
    let time = if value <= 0 { None } else { unit.time(value, now) };
    let time = time.and_then(|time| u64::try_from(time).ok());
    time.ok_or_else(|| Failure::new(format!("ERR invalid expire time in '{command}' command")))
}

pub(crate) fn expire(call: &mut Call<'_, '_>) -> Outcome {
    set_time(call, Unit::Seconds, "expire")
}

pub(crate) fn pexpire(call: &mut Call<'_, '_>) -> Outcome {
    set_time(call, Unit::Milliseconds, "pexpire")
}

pub(crate) fn expireat(call: &mut Call<'_, '_>) -> Outcome {
    set_time(call, Unit::SecondsAt, "expireat")
}

pub(crate) fn pexpireat(call: &mut Call<'_, '_>) -> Outcome {
    set_time(call, Unit::MillisecondsAt, "pexpireat")
}

/// NX, XX, GT and LT of EXPIRE.
#[derive(Clone, Copy, Debug, Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    fn read(words: &[&[u8]]) -> Outcome<Conditions> {
        let mut read = Conditions::default();
        for word in words {
            match word.to_ascii_uppercase().as_slice() {
                b"NX" => read.nx = true,
                b"XX" => read.xx = true,
                b"GT" => read.gt = true,
                b"LT" => read.lt = true,
                _ => {
                    let word = crate::failure::printed(word, usize::MAX);
                    return Err(Failure::new([b"ERR Unsupported option ", word].concat()));
                }
            }
        }
        if read.nx && (read.xx || read.gt || read.lt) {
            return Err(Failure::text("ERR NX and XX, GT or LT options at the same time are not compatible"));
        }
        if read.gt && read.lt {
            return Err(Failure::text("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(read)
    }

    /// Whether the time of a key may become `new`; 0 is a key without one.
    fn allow(self, old: u64, new: i64) -> bool {
        let old_time = i64::try_from(old).unwrap_or(i64::MAX);
        !(self.nx && old != 0
            || self.xx && old == 0
            || self.gt && (old == 0 || new <= old_time)
            || self.lt && old != 0 && new >= old_time)
    }
}

fn set_time(call: &mut Call<'_, '_>, unit: Unit, command: &str) -> Outcome {
    let (key, place) = call.key();
    let conditions = Conditions::read(&call.words[3..])?;
    let value = parse_integer(call.words[2]).ok_or(NOT_INTEGER)?;
    let time = unit.time(value, call.now());
    let time = time.ok_or_else(|| Failure::new(format!("ERR invalid expire time in '{command}' command")))?;
    let Some(head) = call.rows.head(&place)? else { return call.integer(0) };
    if !conditions.allow(head.expires_at, time) {
        return call.integer(0);
    }
    match u64::try_from(time) {
        Ok(time) if time > call.now() => call.rows.set_expiry(key, &place, time)?,
        _ => drop(call.rows.remove(key, &place)?),
    }
    call.integer(1)
}

pub(crate) fn ttl(call: &mut Call<'_, '_>) -> Outcome {
    let now = call.now();
    time_of(call, |time| (time.saturating_sub(now) + 500) / 1000)
}

pub(crate) fn pttl(call: &mut Call<'_, '_>) -> Outcome {
    let now = call.now();
    time_of(call, |time| time.saturating_sub(now))
}

pub(crate) fn expiretime(call: &mut Call<'_, '_>) -> Outcome {
    time_of(call, |time| (time + 500) / 1000)
}

pub(crate) fn pexpiretime(call: &mut Call<'_, '_>) -> Outcome {
    time_of(call, |time| time)
}

fn time_of(call: &mut Call<'_, '_>, shown: impl Fn(u64) -> u64) -> Outcome {
    let (_, place) = call.key();
    let value = match call.rows.head(&place)? {
        None => -2,
        Some(head) if head.expires_at == 0 => -1,
        Some(head) => i64::try_from(shown(head.expires_at)).unwrap_or(i64::MAX),
    };
    call.integer(value)
}

pub(crate) fn persist(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    match call.rows.head(&place)? {
        Some(head) if head.expires_at != 0 => {
            call.rows.set_expiry(key, &place, 0)?;
            call.integer(1)
        }
        _ => call.integer(0),
    }
}
