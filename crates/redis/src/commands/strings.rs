//! Strings are read: GET, MGET, STRLEN, GETDEL.

use crate::call::Call;
use crate::failure::{Outcome, WRONG_TYPE};
use crate::rows_by_name;
use crate::table::Place;

pub(crate) fn get(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let Call { rows, reply, .. } = call;
    if rows.string(&place, |value| reply.bulk(value))?.is_none() {
        reply.null();
    }
    Ok(())
}

pub(crate) fn mget(call: &mut Call<'_, '_>) -> Outcome {
    call.reply.array(call.words.len() - 1);
    for key in &call.words[1..] {
        call.check_room()?;
        if let Some((table, key)) = call.row_of(key) {
            match rows_by_name::only_value(&*table, key) {
                Ok(Some(value)) => call.reply.bulk(&value),
                _ => call.reply.null(),
            }
            continue;
        }
        let Call { rows, reply, .. } = call;
        match rows.string(&Place::of(key), |value| reply.bulk(value)) {
            Ok(Some(())) => {}
            Err(failure) if failure != WRONG_TYPE => return Err(failure),
            _ => reply.null(),
        }
    }
    Ok(())
}

pub(crate) fn strlen(call: &mut Call<'_, '_>) -> Outcome {
    let (_, place) = call.key();
    let length = call.rows.string(&place, <[u8]>::len)?.unwrap_or(0);
    call.integer(length as i64)
}

pub(crate) fn getdel(call: &mut Call<'_, '_>) -> Outcome {
    let (key, place) = call.key();
    get(call)?;
    call.rows.remove(key, &place).map(|_| ())
}
