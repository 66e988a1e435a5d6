//! The server: PING, INFO, COMMAND, CONFIG, TIME and the like.

use super::table::{COMMANDS, find};
use crate::call::Call;
use crate::command::{Command, Effect};
use crate::failure::{Failure, Outcome, SYNTAX};
use crate::number::integer;

/// The version of Redis whose replies these are.
pub(crate) const REDIS_VERSION: &str = "7.0.15";

pub(crate) fn ping(call: &mut Call<'_, '_>) -> Outcome {
    match &call.words[1..] {
        [] => call.reply.simple("PONG"),
        [text] => call.reply.bulk(text),
        _ => return Err(Failure::arity("ping")),
    }
    Ok(())
}

pub(crate) fn echo(call: &mut Call<'_, '_>) -> Outcome {
    call.reply.bulk(call.words[1]);
    Ok(())
}

pub(crate) fn time(call: &mut Call<'_, '_>) -> Outcome {
    let now = call.now();
    call.reply.array(2);
    call.reply.bulk((now / 1000).to_string().as_bytes());
    call.reply.bulk((now % 1000 * 1000).to_string().as_bytes());
    Ok(())
}

pub(crate) fn lastsave(call: &mut Call<'_, '_>) -> Outcome {
    let now = i64::try_from(call.now() / 1000).unwrap_or(i64::MAX);
    call.integer(now)
}

pub(crate) fn wait(call: &mut Call<'_, '_>) -> Outcome {
    integer(call.words[1])?;
    if integer(call.words[2])? < 0 {
        return Err(Failure::text("ERR timeout is negative"));
    }
    call.integer(0)
}

pub(crate) fn debug(_: &mut Call<'_, '_>) -> Outcome {
    Err(Failure::text("ERR DEBUG command not allowed. It does not exist in this server."))
}

pub(crate) fn config(call: &mut Call<'_, '_>) -> Outcome {
    match (call.words[1].to_ascii_uppercase().as_slice(), &call.words[2..]) {
        (b"GET", [_, ..]) => {}
        (b"SET", [_, ..]) => {
            return Err(Failure::text(
                "ERR CONFIG SET is not implemented: settings are in the server's own file",
            ));
        }
        (b"RESETSTAT", []) => return call.ok(),
        (b"GET" | b"SET", _) => {
            let name = call.words[1].to_ascii_lowercase();
            return Err(Failure::arity(&format!("config|{}", String::from_utf8_lossy(&name))));
        }
        _ => return Err(Failure::subcommand(call.words[1], "CONFIG")),
    }
    let sync = match call.database.policy() {
        crate::SyncPolicy::Always => "always",
        crate::SyncPolicy::EverySecond => "everysec",
    };
    let databases = call.host.databases().to_string();
    let known = [
        ("appendfsync", sync),
        ("appendonly", "yes"),
        ("databases", databases.as_str()),
        ("maxmemory", "0"),
        ("maxmemory-policy", "noeviction"),
        ("proto-max-bulk-len", "536870912"),
        ("save", ""),
        ("timeout", "0"),
    ];
    let matches = |name: &str| {
        call.words[2..].iter().any(|word| crate::glob::matches(&word.to_ascii_lowercase(), name.as_bytes()))
    };
    let wanted: Vec<_> = known.into_iter().filter(|(name, _)| matches(name)).collect();
    call.reply.map(wanted.len());
    for (name, value) in wanted {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(value.as_bytes());
    }
    Ok(())
}

pub(crate) fn info(call: &mut Call<'_, '_>) -> Outcome {
    let facts = call.host.facts();
    let sections = [
        (
            "Server",
            format!(
                "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\nbasalt_version:{}\r\ntcp_port:{}\r\n\
                 uptime_in_seconds:{}\r\n",
                facts.version, facts.tcp_port, facts.uptime_seconds
            ),
        ),
        ("Clients", format!("connected_clients:{}\r\n", facts.connected_clients)),
        ("Memory", format!("used_memory:{}\r\nmaxmemory:0\r\n", facts.memory_bytes)),
        ("Persistence", "loading:0\r\naof_enabled:1\r\n".to_owned()),
        ("Stats", format!("total_commands_processed:{}\r\n", facts.commands)),
        ("Replication", "role:master\r\nconnected_slaves:0\r\n".to_owned()),
        ("Cluster", "cluster_enabled:0\r\n".to_owned()),
    ];
    let is_wanted = |name: &str| {
        let wanted = |word: &&[u8]| {
            [name.as_bytes(), b"all", b"default", b"everything"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known))
        };
        call.words.len() == 1 || call.words[1..].iter().any(wanted)
    };
    let shown = sections.iter().filter(|(name, _)| is_wanted(name));
    let text: Vec<String> = shown.map(|(name, lines)| format!("# {name}\r\n{lines}")).collect();
    call.reply.verbatim("txt", text.join("\r\n").as_bytes());
    Ok(())
}

pub(crate) fn command(call: &mut Call<'_, '_>) -> Outcome {
    let all = || COMMANDS.iter().map(Some).collect::<Vec<_>>();
    let what = call.words.get(1).map(|word| word.to_ascii_uppercase());
    let named = || call.words[2..].iter().map(|name| find(name)).collect::<Vec<_>>();
    match (what.as_deref(), call.words.len()) {
        (None, _) | (Some(b"INFO"), 2) => describe(call, &all()),
        (Some(b"INFO"), _) => {
            let named = named();
            describe(call, &named);
        }
        (Some(b"COUNT"), 2) => return call.integer(COMMANDS.len() as i64),
        (Some(b"LIST"), 2) => {
            call.reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| call.reply.bulk(command.name.as_bytes()));
        }
        (Some(b"DOCS"), words) => {
            let wanted = if words == 2 { all() } else { named() };
            let wanted: Vec<_> = wanted.into_iter().flatten().collect();
            call.reply.map(wanted.len());
            for command in wanted {
                call.reply.bulk(command.name.as_bytes());
                call.reply.map(1);
                call.reply.bulk(b"arity");
                call.reply.integer(i64::from(command.arity));
            }
        }
        (Some(b"COUNT" | b"LIST"), _) => return Err(SYNTAX),
        _ => return Err(Failure::subcommand(call.words[1], "COMMAND")),
    }
    Ok(())
}

fn describe(call: &mut Call<'_, '_>, commands: &[Option<&Command>]) {
    call.reply.array(commands.len());
    for command in commands {
        let Some(command) = command else {
            call.reply.null_array();
            continue;
        };
        let (first, last, step) = command.keys;
        let flags: &[&str] = match command.effect {
            Effect::Reads | Effect::ReadsRow => &["readonly"],
            Effect::Writes | Effect::WritesAll => &["write"],
            Effect::None => &["fast"],
        };
        call.reply.array(10);
        call.reply.bulk(command.name.as_bytes());
        call.reply.integer(i64::from(command.arity));
        call.reply.set(flags.len());
        flags.iter().for_each(|flag| call.reply.simple(flag));
        call.reply.integer(first as i64);
        call.reply.integer(i64::from(last));
        call.reply.integer(step as i64);
        call.reply.set(0);
        (0..3).for_each(|_| call.reply.array(0));
    }
}
