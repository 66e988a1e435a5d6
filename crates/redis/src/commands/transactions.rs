//! MULTI, EXEC, DISCARD, WATCH.

use std::sync::Arc;

use crate::command::{Command, Effect, Run};
use crate::database::Database;
use crate::failure::{Failure, Outcome};
use crate::host::Host;
use crate::locks::Access;
use crate::queue::{Queue, Seen, Watch};
use crate::rows_by_name::run_data;
use crate::state::{Client, Next};

pub(crate) fn multi(client: &mut Client, _: &dyn Host, _: &[&[u8]], out: &mut Vec<u8>) -> Outcome<Next> {
    if client.queue.is_some() {
        return Err(Failure::text("ERR MULTI calls can not be nested"));
    }
    client.queue = Some(Queue::default());
    out.extend_from_slice(b"+OK\r\n");
    Ok(Next::Continue)
}

pub(crate) fn discard(client: &mut Client, _: &dyn Host, _: &[&[u8]], out: &mut Vec<u8>) -> Outcome<Next> {
    if client.queue.take().is_none() {
        return Err(Failure::text("ERR DISCARD without MULTI"));
    }
    client.watches.clear();
    out.extend_from_slice(b"+OK\r\n");
    Ok(Next::Continue)
}

pub(crate) fn unwatch(client: &mut Client, _: &dyn Host, _: &[&[u8]], out: &mut Vec<u8>) -> Outcome<Next> {
    client.watches.clear();
    out.extend_from_slice(b"+OK\r\n");
    Ok(Next::Continue)
}

pub(crate) fn watch(
    client: &mut Client,
    host: &dyn Host,
    words: &[&[u8]],
    out: &mut Vec<u8>,
) -> Outcome<Next> {
    if client.queue.is_some() {
        return Err(Failure::text("ERR WATCH inside MULTI is not allowed"));
    }
    let database = client.database(host)?;
    for &key in &words[1..] {
        let is_known = |watch: &Watch| watch.key == key && Arc::ptr_eq(&watch.database, &database);
        if !client.watches.iter().any(is_known) {
            let seen = Seen::look(&database, key, host.now_ms())?;
            client.watches.push(Watch { database: Arc::clone(&database), key: key.to_vec(), seen });
        }
    }
    out.extend_from_slice(b"+OK\r\n");
    Ok(Next::Continue)
}

pub(crate) fn exec(client: &mut Client, host: &dyn Host, _: &[&[u8]], out: &mut Vec<u8>) -> Outcome<Next> {
    let Some(queue) = client.queue.take() else { return Err(Failure::text("ERR EXEC without MULTI")) };
    let watches = std::mem::take(&mut client.watches);
    if queue.is_broken {
        return Err(Failure::text("EXECABORT Transaction discarded because of previous errors."));
    }
    let database = client.database(host)?;
    let commands: Vec<(&Command, Vec<&[u8]>)> = queue
        .commands
        .iter()
        .map(|(command, words)| (*command, words.iter().map(Vec::as_slice).collect()))
        .collect();
    let takes_all = commands.iter().any(|(command, _)| command.effect == Effect::WritesAll);
    let watched = watches.iter().filter(|watch| Arc::ptr_eq(&watch.database, &database));
    let keys = commands.iter().flat_map(|(command, words)| command.keys_of(words));
    let _held = match takes_all {
        true => database.locks.hold_all(),
        false => database.locks.hold(keys.chain(watched.map(|watch| watch.key.as_slice())), Access::Alone),
    };
    let now = host.now_ms();
    for watch in &watches {
        if Seen::look(&watch.database, &watch.key, now)? != watch.seen {
            basalt_wire::resp::ReplyWriter { out, version: client.version }.null_array();
            return Ok(Next::Continue);
        }
    }
    run_all(client, host, &database, &commands, now, out)
}

fn run_all(
    client: &mut Client,
    host: &dyn Host,
    database: &Arc<Database>,
    commands: &[(&Command, Vec<&[u8]>)],
    now: u64,
    out: &mut Vec<u8>,
) -> Outcome<Next> {
    basalt_wire::resp::ReplyWriter { out, version: client.version }.array(commands.len());
    let mut rows = match commands
        .iter()
        .any(|(command, _)| matches!(command.effect, Effect::Writes | Effect::WritesAll))
    {
        true => database.begin_change(now)?,
        false => database.begin(now)?,
    };
    let number = client.number;
    for (command, words) in commands {
        let start = out.len();
        let ran = match command.run {
            Run::Data(_) if client.number != number => {
                Err(Failure::text("ERR a transaction has one database: SELECT must be its last command"))
            }
            Run::Data(run) => run_data(command, run, &mut client.call(host, database, &mut rows, words, out)),
            // Nothing of these changes rows.
            Run::Connection(run) => run(client, host, words, out).and_then(|next| match next {
                Next::Authenticate { .. } => {
                    Err(Failure::text("ERR Command not allowed inside a transaction"))
                }
                _ => Ok(()),
            }),
        };
        if let Err(failure) = ran {
            out.truncate(start);
            client.failed(&failure, out);
        }
    }
    if database.write(&mut rows)? {
        client.note_unsynced(database);
    }
    Ok(Next::Continue)
}
