//! All keys: KEYS, DBSIZE, RANDOMKEY, FLUSHDB, FLUSHALL.

use basalt_kv::{ByteRange, Direction};

use crate::call::Call;
use crate::failure::{Failure, Outcome, SYNTAX};
use crate::glob;
use crate::random::Random;
use crate::table::{Place, Record};
use crate::transaction::{Flow, Transaction};

/// Keys that RANDOMKEY chooses from.
const CANDIDATES: usize = 32;

pub(crate) fn keys(call: &mut Call<'_, '_>) -> Outcome {
    let pattern = call.words[1];
    let (start, now) = (call.reply.out.len(), call.now());
    let mut count = 0;
    let Call { rows, reply, .. } = call;
    rows.each_head(&ByteRange::default(), |key, row, _| {
        if glob::matches(pattern, key) && !Record::decode(row)?.is_expired(now) {
            reply.bulk(key);
            count += 1;
            if reply.out.len() - start > (512 << 20) {
                return Err(crate::failure::REPLY_TOO_LONG);
            }
        }
        Ok(Flow::Next)
    })?;
    call.put_array_before(start, count);
    Ok(())
}

pub(crate) fn dbsize(call: &mut Call<'_, '_>) -> Outcome {
    let (now, mut count) = (call.now(), 0);
    call.rows.each_head(&ByteRange::default(), |_, row, _| {
        count += i64::from(!Record::decode(row)?.is_expired(now));
        Ok(Flow::Next)
    })?;
    call.integer(count)
}

/// One of some keys that follow a random place.
pub(crate) fn randomkey(call: &mut Call<'_, '_>) -> Outcome {
    let mut random = Random::new();
    let [first, second, third, fourth, ..] = random.next().to_le_bytes();
    let bytes = [first, second, third, fourth];
    let mut found = candidates(call, Place::of(&bytes).head())?;
    if found.len() < CANDIDATES {
        found.extend(candidates(call, b"")?);
    }
    match found.as_slice() {
        [] => call.reply.null(),
        keys => call.reply.bulk(&keys[random.below(keys.len())]),
    }
    Ok(())
}

fn candidates(call: &Call<'_, '_>, from: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let range = ByteRange { lower: from.to_vec(), upper: None };
    call.rows.each_head(&range, |key, row, _| {
        if !Record::decode(row)?.is_expired(call.now()) {
            found.push(key.to_vec());
        }
        Ok(if found.len() < CANDIDATES { Flow::Next } else { Flow::Stop })
    })?;
    Ok(found)
}

pub(crate) fn flushdb(call: &mut Call<'_, '_>) -> Outcome {
    check_mode(call)?;
    flush(call)?;
    call.ok()
}

pub(crate) fn flushall(call: &mut Call<'_, '_>) -> Outcome {
    check_mode(call)?;
    flush(call)?;
    for number in call.host.existing().into_iter().filter(|&number| number != call.number) {
        let database = call.host.database(number)?;
        let mut rows = database.begin_change(call.now())?;
        delete_all(&mut rows)?;
        database.write(&mut rows)?;
        database.sync_log()?;
        database.locks.changed_all();
    }
    call.ok()
}

fn flush(call: &mut Call<'_, '_>) -> Outcome {
    delete_all(call.rows)?;
    call.database.locks.changed_all();
    Ok(())
}

fn delete_all(rows: &mut Transaction) -> Outcome {
    let mut end = None;
    rows.scan(&ByteRange::default(), Direction::Descending, |last, _| {
        end = Some([last, &[0]].concat());
        Ok::<_, Failure>(Flow::Stop)
    })?;
    if let Some(end) = end {
        rows.delete_range(ByteRange { lower: Vec::new(), upper: Some(end) });
    }
    Ok(())
}

fn check_mode(call: &Call<'_, '_>) -> Outcome {
    match &call.words[1..] {
        [] => Ok(()),
        [mode] if mode.eq_ignore_ascii_case(b"SYNC") || mode.eq_ignore_ascii_case(b"ASYNC") => Ok(()),
        _ => Err(SYNTAX),
    }
}
