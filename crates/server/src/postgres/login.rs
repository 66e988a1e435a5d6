//! The first messages of a connection, and the session that they open.

use std::sync::Arc;

use basalt_engine::{Result, Session};
use basalt_wire::postgres::{MessageWriter, Startup, TransactionStatus};

use super::cancels::{CancelKey, Cancels};
use super::failure::{Failure, Outcome, state};
use super::protocol::Postgres;
use super::{encryption, password, variables};
use crate::connections::Channel;
use crate::shared::Shared;

/// How often a client may ask for encryption: TLS and GSS, once each.
const ENCRYPTION_REQUESTS_MAX: usize = 2;

/// The database that clients connect to if they name none; ours has another name.
const USUAL_DATABASE: &str = "postgres";

/// A session with the key that cancels its statements, and the answers that open it.
pub(super) struct Opened {
    pub(super) session: Session,
    pub(super) key: CancelKey,
    pub(super) answers: MessageWriter,
}

/// Logs a client in; `None` if it has gone, or wanted to cancel a statement only.
pub(super) async fn greet(postgres: &Postgres, channel: &mut Channel) -> Result<Option<Outcome<Opened>>> {
    let Postgres { shared, cancels, tls } = postgres;
    if let Err(failure) = encryption::begin_at_once(channel, tls.as_ref()).await? {
        return Ok(Some(Err(failure)));
    }
    let login = channel.limits().login;
    for _ in 0..=ENCRYPTION_REQUESTS_MAX {
        let Some(first) = channel.message(login, Startup::read).await? else { return Ok(None) };
        match first {
            Startup::Tls => encryption::begin(channel, tls.as_ref()).await?,
            Startup::Gss => encryption::refuse(channel).await?,
            Startup::Cancel { process, secret } => {
                cancels.cancel(process, secret);
                return Ok(None);
            }
            Startup::Session { minor, parameters } => {
                if let Err(failure) = encryption::check(channel, tls.as_ref()) {
                    return Ok(Some(Err(failure)));
                }
                let mut answers = MessageWriter::default();
                negotiate(minor, &parameters, &mut answers);
                return open(shared, cancels, channel, &parameters, answers).await;
            }
        }
    }
    Ok(Some(Err(Failure::new(state::PROTOCOL_VIOLATION, "encryption was refused already"))))
}

/// Answers newer versions and unknown parameters of the protocol.
fn negotiate(minor: u16, parameters: &[(String, String)], answers: &mut MessageWriter) {
    let names = parameters.iter().map(|(name, _)| name.as_str());
    let unknown: Vec<&str> = names.filter(|name| name.starts_with("_pq_.")).collect();
    if minor > 0 || !unknown.is_empty() {
        answers.negotiate_version(&unknown);
    }
}

async fn open(
    shared: &Arc<Shared>,
    cancels: &Arc<Cancels>,
    channel: &mut Channel,
    parameters: &[(String, String)],
    mut answers: MessageWriter,
) -> Result<Option<Outcome<Opened>>> {
    let value =
        |wanted: &str| parameters.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value);
    let user = match password::authenticate(shared, channel, value("user"), &mut answers).await? {
        Some(Ok(user)) => user,
        Some(Err(failure)) => return Ok(Some(Err(failure))),
        None => return Ok(None),
    };
    let mut session = shared.open_session(&user, channel.peer().address.ip())?;
    session.start_postgres()?;
    if let Err(failure) = prepare(&mut session, &user, parameters) {
        return Ok(Some(Err(failure)));
    }
    answers.authentication_ok();
    variables::report_all(&session, &mut answers);
    let key = cancels.open();
    answers.backend_key(key.process, key.secret);
    answers.ready_for_query(TransactionStatus::Idle);
    Ok(Some(Ok(Opened { session, key, answers })))
}

/// Applies the parameters of the first message.
fn prepare(session: &mut Session, user: &str, parameters: &[(String, String)]) -> Outcome<()> {
    session.set_postgres_variable("session_authorization", Some(user));
    variables::change(session, "TimeZone", None)?;
    for (name, value) in parameters {
        match name.as_str() {
            "user" | "replication" => {}
            "database" => use_database(session, value)?,
            "options" => {
                for (name, value) in command_line(value) {
                    set(session, &name, &value)?;
                }
            }
            other if other.starts_with("_pq_.") => {}
            other => set(session, other, value)?,
        }
    }
    Ok(())
}

fn use_database(session: &mut Session, name: &str) -> Outcome<()> {
    match session.use_database(name) {
        Ok(()) => Ok(()),
        Err(_) if name.is_empty() || name == USUAL_DATABASE => Ok(()),
        Err(_) => Err(Failure::new(state::INVALID_DATABASE, format!("database \"{name}\" does not exist"))),
    }
}

/// A variable of PostgreSQL, or a setting.
fn set(session: &mut Session, name: &str, value: &str) -> Outcome<()> {
    if session.postgres_variable(name).is_some() || name.contains('.') {
        return variables::change(session, name, Some(value)).map(|_| ());
    }
    Ok(session.change(name, value)?)
}

/// `-c name=value` and `--name=value`.
fn command_line(options: &str) -> Vec<(String, String)> {
    let mut words = options.split_ascii_whitespace();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let pair = match word {
            "-c" => words.next(),
            other => other.strip_prefix("--").or_else(|| other.strip_prefix("-c")),
        };
        if let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) {
            found.push((name.replace('-', "_"), value.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_a_command_line() {
        let found = command_line("-c search_path=shop --statement-timeout=5s -cgeqo=off -x");
        let expected = [("search_path", "shop"), ("statement_timeout", "5s"), ("geqo", "off")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
