//! Keys of the form `table:key`: rows of SQL tables as hashes, or as strings if they have one value.

use crate::call::{Call, row_of};
use crate::command::{Command, RunData};
use crate::failure::{Failure, Outcome, SYNTAX};
use crate::host::RowTable;

type Row = Vec<Option<Vec<u8>>>;

/// Whether the command looks at each of its keys itself, because it takes several.
fn takes_many(command: &str) -> bool {
    matches!(command, "del" | "unlink" | "exists" | "touch" | "mget")
}

/// Runs a command on rows of Redis, or on a row of the table that its key names.
pub(crate) fn run_data(command: &Command, run_on_rows: RunData, call: &mut Call<'_, '_>) -> Outcome {
    if command.keys.0 == 1
        && let Some(key) = call.words.get(1)
        && let Some((table, key)) = row_of(call.host, key)
        && !takes_many(command.name)
    {
        return run(command.name, &*table, key, call);
    }
    run_on_rows(call)
}

/// Runs a command on the row `key` of `table`.
fn run(command: &str, table: &dyn RowTable, key: &[u8], call: &mut Call<'_, '_>) -> Outcome {
    match command {
        "get" => {
            match only_value(table, key)? {
                Some(value) => call.reply.bulk(&value),
                None => call.reply.null(),
            }
            Ok(())
        }
        "strlen" => {
            let length = only_value(table, key)?.map_or(0, |value| value.len());
            call.integer(length as i64)
        }
        "set" if call.words.len() > 3 => Err(SYNTAX),
        "set" => {
            only_column(table)?;
            table.put(key, &[(0, call.words[2])])?;
            call.ok()
        }
        "type" => {
            let is_hash = table.columns().len() != 1;
            call.reply.simple(match table.get(key)? {
                None => "none",
                Some(_) if is_hash => "hash",
                Some(_) => "string",
            });
            Ok(())
        }
        "ttl" | "pttl" | "expiretime" | "pexpiretime" => {
            let time = if table.get(key)?.is_some() { -1 } else { -2 };
            call.integer(time)
        }
        "hset" | "hmset" => put(command, table, key, call),
        _ => run_hash(command, table, key, call),
    }
}

fn run_hash(command: &str, table: &dyn RowTable, key: &[u8], call: &mut Call<'_, '_>) -> Outcome {
    let columns = table.columns();
    let row = match command {
        "hget" | "hmget" | "hgetall" | "hkeys" | "hvals" | "hlen" | "hexists" | "hstrlen" => {
            table.get(key)?
        }
        _ => {
            return Err(Failure::new(format!(
                "ERR the key names a row of a table, which {command} does not take"
            )));
        }
    };
    let value = |name: &[u8]| {
        let at = columns.iter().position(|column| column.as_bytes() == name)?;
        row.as_ref()?.get(at)?.as_deref()
    };
    match command {
        "hget" => put_or_null(call, value(call.words[2])),
        "hmget" => {
            call.reply.array(call.words.len() - 2);
            call.words[2..].iter().for_each(|name| put_or_null(call, value(name)));
        }
        "hexists" => call.reply.integer(i64::from(value(call.words[2]).is_some())),
        "hstrlen" => call.reply.integer(value(call.words[2]).map_or(0, <[u8]>::len) as i64),
        _ => {
            let row = row.unwrap_or_default();
            show(command, call, &columns, &row);
        }
    }
    Ok(())
}

/// The columns that are not NULL, for the commands that show all.
fn show(command: &str, call: &mut Call<'_, '_>, columns: &[String], row: &Row) {
    let fields: Vec<(&String, &Vec<u8>)> =
        columns.iter().zip(row).filter_map(|(name, value)| Some((name, value.as_ref()?))).collect();
    match command {
        "hlen" => return call.reply.integer(fields.len() as i64),
        "hgetall" => call.reply.map(fields.len()),
        _ => call.reply.array(fields.len()),
    }
    for (name, value) in fields {
        if command != "hvals" {
            call.reply.bulk(name.as_bytes());
        }
        if command != "hkeys" {
            call.reply.bulk(value);
        }
    }
}

fn put(command: &str, table: &dyn RowTable, key: &[u8], call: &mut Call<'_, '_>) -> Outcome {
    if call.words.len() % 2 == 1 {
        return Err(Failure::arity(command));
    }
    let columns = table.columns();
    let mut fields: Vec<(usize, &[u8])> = Vec::new();
    for pair in call.words[2..].chunks_exact(2) {
        let at = columns.iter().position(|column| column.as_bytes() == pair[0]);
        let at =
            at.ok_or_else(|| Failure::new([b"ERR the table has no column '", pair[0], b"'"].concat()))?;
        fields.retain(|(known, _)| *known != at);
        fields.push((at, pair[1]));
    }
    let is_new = table.put(key, &fields)?;
    match command {
        "hmset" => call.ok(),
        _ => call.integer(if is_new { fields.len() as i64 } else { 0 }),
    }
}

fn put_or_null(call: &mut Call<'_, '_>, value: Option<&[u8]>) {
    match value {
        Some(value) => call.reply.bulk(value),
        None => call.reply.null(),
    }
}

fn only_column(table: &dyn RowTable) -> Outcome {
    match table.columns().len() {
        1 => Ok(()),
        count => Err(Failure::new(format!(
            "WRONGTYPE the table has {count} columns besides its key: its rows are hashes"
        ))),
    }
}

/// The value of a row of a table with one column besides the key; `None` if it is NULL or there is no such row.
pub(crate) fn only_value(table: &dyn RowTable, key: &[u8]) -> Outcome<Option<Vec<u8>>> {
    only_column(table)?;
    Ok(table.get(key)?.and_then(|row| row.into_iter().next().flatten()))
}
