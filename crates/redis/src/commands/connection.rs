//! The connection itself: SELECT, AUTH, HELLO, CLIENT, QUIT, RESET.

use basalt_wire::resp::{ReplyWriter, Version};

use crate::failure::{Failure, Outcome, SYNTAX};
use crate::host::{ClientFacts, Host};
use crate::number::{integer, parse_integer};
use crate::state::{Client, Greeting, Next};

pub(crate) fn select(
    client: &mut Client,
    host: &dyn Host,
    words: &[&[u8]],
    out: &mut Vec<u8>,
) -> Outcome<Next> {
    let number = integer(words[1])?;
    let number = u32::try_from(number).ok().filter(|&number| number < host.databases());
    client.number = number.ok_or(Failure::text("ERR DB index is out of range"))?;
    ok(out)
}

fn ok(out: &mut Vec<u8>) -> Outcome<Next> {
    out.extend_from_slice(b"+OK\r\n");
    Ok(Next::Continue)
}

pub(crate) fn quit(_: &mut Client, _: &dyn Host, _: &[&[u8]], out: &mut Vec<u8>) -> Outcome<Next> {
    ok(out)?;
    Ok(Next::Close)
}

pub(crate) fn reset(client: &mut Client, _: &dyn Host, _: &[&[u8]], out: &mut Vec<u8>) -> Outcome<Next> {
    client.queue = None;
    client.watches.clear();
    client.number = 0;
    client.version = Version::Resp2;
    client.name.clear();
    client.reset_user();
    out.extend_from_slice(b"+RESET\r\n");
    Ok(Next::Continue)
}

pub(crate) fn auth(client: &mut Client, _: &dyn Host, words: &[&[u8]], _: &mut Vec<u8>) -> Outcome<Next> {
    let (user, password) = match words {
        [_, password] if client.needs_password() => (b"default".as_slice(), *password),
        [_, _] => {
            return Err(Failure::text(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?",
            ));
        }
        [_, user, password] => (*user, *password),
        _ => return Err(SYNTAX),
    };
    Ok(Next::Authenticate { user: String::from_utf8_lossy(user).into_owned(), password: password.to_vec() })
}

pub(crate) fn hello(client: &mut Client, _: &dyn Host, words: &[&[u8]], out: &mut Vec<u8>) -> Outcome<Next> {
    let mut greeting = Greeting { version: client.version, name: None };
    if let Some(version) = words.get(1) {
        let not_number = Failure::text("ERR Protocol version is not an integer or out of range");
        greeting.version = match parse_integer(version).ok_or(not_number)? {
            2 => Version::Resp2,
            3 => Version::Resp3,
            _ => return Err(Failure::text("NOPROTO unsupported protocol version")),
        };
    }
    let (mut at, mut credentials) = (2, None);
    while let Some(word) = words.get(at) {
        match (word.to_ascii_uppercase().as_slice(), &words[at + 1..]) {
            (b"AUTH", [user, password, ..]) => {
                credentials = Some((String::from_utf8_lossy(user).into_owned(), password.to_vec()));
                at += 3;
            }
            (b"SETNAME", [name, ..]) => {
                check_name(name)?;
                greeting.name = Some(name.to_vec());
                at += 2;
            }
            _ => {
                return Err(Failure::new(
                    [b"ERR Syntax error in HELLO option '", crate::failure::printed(word, 128), b"'"]
                        .concat(),
                ));
            }
        }
    }
    if let Some((user, password)) = credentials {
        client.greeting = Some(greeting);
        return Ok(Next::Authenticate { user, password });
    }
    if client.user.is_none() {
        return Err(Failure::text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> \
             <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    client.greet(greeting, out);
    Ok(Next::Continue)
}

impl Client {
    /// Does what HELLO asked for.
    pub(crate) fn greet(&mut self, greeting: Greeting, out: &mut Vec<u8>) {
        let client = self;
        client.version = greeting.version;
        if let Some(name) = greeting.name {
            client.name = name;
        }
        let mut reply = ReplyWriter { out, version: client.version };
        reply.map(7);
        let texts = [("server", "redis"), ("version", super::server::REDIS_VERSION)];
        for (name, text) in texts {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        }
        reply.bulk(b"proto");
        reply.integer(if client.version == Version::Resp3 { 3 } else { 2 });
        reply.bulk(b"id");
        reply.integer(i64::try_from(client.id).unwrap_or(i64::MAX));
        for (name, text) in [("mode", "standalone"), ("role", "master")] {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        }
        reply.bulk(b"modules");
        reply.array(0);
    }
}

fn check_name(name: &[u8]) -> Outcome {
    match name.iter().all(u8::is_ascii_graphic) {
        true => Ok(()),
        false => {
            Err(Failure::text("ERR Client names cannot contain spaces, newlines or special characters."))
        }
    }
}

pub(crate) fn client(
    client: &mut Client,
    host: &dyn Host,
    words: &[&[u8]],
    out: &mut Vec<u8>,
) -> Outcome<Next> {
    let what = words[1].to_ascii_uppercase();
    let mut reply = ReplyWriter { out, version: client.version };
    match (what.as_slice(), &words[2..]) {
        (b"ID", []) => reply.integer(i64::try_from(client.id).unwrap_or(i64::MAX)),
        (b"GETNAME", []) if client.name.is_empty() => reply.null(),
        (b"GETNAME", []) => reply.bulk(&client.name),
        (b"SETNAME", [name]) => {
            check_name(name)?;
            client.name = name.to_vec();
            reply.simple("OK");
        }
        (b"SETINFO", [_, _]) => reply.simple("OK"),
        (b"NO-EVICT" | b"NO-TOUCH", [mode]) => match mode.to_ascii_uppercase().as_slice() {
            b"ON" | b"OFF" => reply.simple("OK"),
            _ => return Err(SYNTAX),
        },
        (b"LIST", _) => {
            let lines: Vec<String> = host.clients().iter().map(line).collect();
            reply.verbatim("txt", lines.concat().as_bytes());
        }
        (b"INFO", []) => {
            let clients = host.clients();
            let own = clients.iter().find(|other| other.id == client.id);
            let facts =
                ClientFacts { id: client.id, database: client.number, ..own.cloned().unwrap_or_default() };
            reply.verbatim("txt", line(&facts).as_bytes());
        }
        (b"ID" | b"GETNAME" | b"SETNAME" | b"SETINFO" | b"NO-EVICT" | b"NO-TOUCH" | b"INFO", _) => {
            return Err(Failure::arity(&format!("client|{}", String::from_utf8_lossy(&what).to_lowercase())));
        }
        _ => return Err(Failure::subcommand(words[1], "CLIENT")),
    }
    Ok(Next::Continue)
}

fn line(facts: &ClientFacts) -> String {
    format!(
        "id={} addr={} laddr={} name={} age={} db={} user={}\n",
        facts.id,
        facts.address,
        facts.local_address,
        facts.name,
        facts.age_seconds,
        facts.database,
        facts.user
    )
}
