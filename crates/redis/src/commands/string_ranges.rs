//! Parts of strings: APPEND, GETRANGE, SETRANGE.

use crate::call::Call;
use crate::failure::{Failure, Outcome, TOO_LONG};
use crate::number::integer;
use crate::table::Record;

/// The most bytes of a string.
const STRING_BYTES_MAX: usize = 512 << 20;

pub(crate) fn append(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let old = call.rows.string_record(&place, |record| (record.value.to_vec(), record.expires_at))?;
    let (mut value, expires_at) = old.unwrap_or_default();
    if value.len() + call.words[2].len() > STRING_BYTES_MAX {
        return Err(TOO_LONG);
    }
    value.extend_from_slice(call.words[2]);
    call.rows.put_string(key, &place, &value, expires_at)?;
    call.integer(value.len() as i64)
}

pub(crate) fn getrange(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let (start, end) = (integer(call.words[2])?, integer(call.words[3])?);
    let Call { rows, reply, .. } = call;
    let found = rows.string(&place, |value| reply.bulk(part(value, start, end)))?;
    if found.is_none() {
        reply.bulk(b"");
    }
    Ok(())
}

fn part(value: &[u8], start: i64, end: i64) -> &[u8] {
    let length = value.len() as i64;
    if start < 0 && end < 0 && start > end {
        return b"";
    }
    let start = if start < 0 { start.saturating_add(length) } else { start }.max(0);
    let end = if end < 0 { end.saturating_add(length) } else { end }.clamp(0, (length - 1).max(0));
    if start > end || length == 0 { b"" } else { &value[start as usize..=end as usize] }
}

pub(crate) fn setrange(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    let offset = integer(call.words[2])?;
    if offset < 0 {
        return Err(Failure::text("ERR offset is out of range"));
    }
    let piece = call.words[3];
    let old =
        call.rows.string_record(&place, |Record { value, expires_at, .. }| (value.to_vec(), expires_at))?;
    let (mut value, expires_at) = old.unwrap_or_default();
    if piece.is_empty() {
        return call.integer(value.len() as i64);
    }
    let end = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(piece.len()));
    let end = end.filter(|&end| end <= STRING_BYTES_MAX).ok_or(TOO_LONG)?;
    if value.len() < end {
        value.resize(end, 0);
    }
    value[end - piece.len()..end].copy_from_slice(piece);
    call.rows.put_string(key, &place, &value, expires_at)?;
    call.integer(value.len() as i64)
}
