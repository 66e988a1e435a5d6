//! One message of a client after the other: simple statements, and the steps of the extended protocol.

use std::sync::Arc;

use basalt_engine::Result;
use basalt_engine::postgres::PostgresCommand;
use basalt_wire::postgres::{Bind, ClientMessage, Parse, Target};

use super::binding::bind;
use super::client::Client;
use super::describe::describe;
use super::execution::{self, Started};
use super::failure::{Failure, Outcome, state};
use super::portal::{Portal, State};
use super::prepared::{Prepared, text_fields};
use super::{command, script};
use crate::waits;

/// Why there are no more messages.
pub(super) enum End {
    /// The client has gone.
    Gone,
    /// The server stops.
    Stopped,
}

/// Answers until the client goes or the server stops.
pub(super) async fn answer_all(client: &mut Client) -> Result<End> {
    // After an error, messages up to Sync are skipped.
    let mut skips = false;
    loop {
        if client.channel.arrived().is_empty() {
            client.flush().await?;
        }
        let idle = waits::idle(client.session.as_ref());
        let next = client.channel.message(idle, ClientMessage::read);
        let message = tokio::select! {
            message = next => message?,
            _ = client.stop.changed() => return Ok(End::Stopped),
        };
        let Some(message) = message else { return Ok(End::Gone) };
        match message {
            ClientMessage::Terminate => return Ok(End::Gone),
            ClientMessage::Sync => {
                skips = false;
                ready(client).await?;
            }
            _ if skips => {}
            ClientMessage::Query(text) => {
                script::run(client, &text).await?;
                ready(client).await?;
            }
            other => {
                if let Err(failure) = answer(client, other).await? {
                    client.fail(&failure);
                    skips = true;
                }
            }
        }
        client.flush_many().await?;
    }
}

/// The end of a statement, or of a series of messages: portals live as long as a transaction.
async fn ready(client: &mut Client) -> Result<()> {
    let status = client.transaction.status;
    if status != basalt_wire::postgres::TransactionStatus::InTransaction {
        client.drop_portals();
    }
    client.answers.ready_for_query(status);
    client.flush().await
}

/// Answers a message of the extended protocol.
async fn answer(client: &mut Client, message: ClientMessage) -> Result<Outcome<()>> {
    Ok(match message {
        ClientMessage::Parse(message) => parse(client, message),
        ClientMessage::Bind(message) => return bind_portal(client, message).await,
        ClientMessage::Describe(Target::Statement(name)) => return describe_statement(client, &name).await,
        ClientMessage::Describe(Target::Portal(name)) => return describe_portal(client, name).await,
        ClientMessage::Execute { portal, rows_max } => return execute(client, portal, rows_max).await,
        ClientMessage::Close(target) => {
            match target {
                Target::Statement(name) => drop(client.drop_statements(Some(&name))),
                Target::Portal(name) => drop(client.take_portal(&name)),
            }
            client.answers.close_complete();
            Ok(())
        }
        ClientMessage::Flush => {
            client.flush().await?;
            Ok(())
        }
        // The rest of the data of a COPY that has failed.
        ClientMessage::CopyData(_) | ClientMessage::CopyDone | ClientMessage::CopyFail(_) => Ok(()),
        ClientMessage::FunctionCall => {
            client.fail(&Failure::new(state::FEATURE_NOT_SUPPORTED, "calls of functions by their number"));
            ready(client).await?;
            Ok(())
        }
        _ => Err(Failure::new(state::PROTOCOL_VIOLATION, "this message is not expected here")),
    })
}

fn parse(client: &mut Client, message: Parse) -> Outcome<()> {
    let Parse { name, text, types } = message;
    client.session()?.check_statement_size(&text)?;
    let prepared = Prepared::parse(&text, types)?;
    if name.is_empty() {
        client.drop_statements(Some(""));
    }
    client.keep_statement(name, prepared)?;
    client.answers.parse_complete();
    Ok(())
}

async fn bind_portal(client: &mut Client, message: Bind) -> Result<Outcome<()>> {
    let prepared = match client.statement(&message.statement) {
        Ok(prepared) => prepared,
        Err(failure) => return Ok(Err(failure)),
    };
    if prepared.has_unknown_types(message.values.len()) {
        // A statement that cannot be described without values may run with them.
        let _ = describe(client, &prepared).await?;
    }
    Ok(bound(client, prepared, message))
}

fn bound(client: &mut Client, prepared: Arc<Prepared>, message: Bind) -> Outcome<()> {
    if message.portal.is_empty() {
        drop(client.take_portal(""));
    }
    client.check_portal(&message.portal)?;
    let parameters = bind(&prepared, &message)?;
    let portal = Portal { prepared, parameters, formats: message.result_formats, state: State::Bound };
    client.keep_portal(message.portal, portal);
    client.answers.bind_complete();
    Ok(())
}

async fn describe_statement(client: &mut Client, name: &str) -> Result<Outcome<()>> {
    let prepared = match client.statement(name) {
        Ok(prepared) => prepared,
        Err(failure) => return Ok(Err(failure)),
    };
    if let Err(failure) = describe(client, &prepared).await? {
        return Ok(Err(failure));
    }
    client.answers.parameter_description(&prepared.parameter_oids());
    let own = prepared.command.as_ref().map(command::columns).unwrap_or_default();
    match prepared.fields(&[]) {
        Some(fields) => client.answers.row_description(&fields),
        None if own.is_empty() => client.answers.no_data(),
        None => client.answers.row_description(&text_fields(&own, &[])),
    }
    Ok(Ok(()))
}

async fn describe_portal(client: &mut Client, name: String) -> Result<Outcome<()>> {
    let mut portal = match client.take_portal(&name) {
        Ok(portal) => portal,
        Err(failure) => return Ok(Err(failure)),
    };
    if matches!(portal.state, State::Bound)
        && portal.prepared.may_have_rows()
        && let Err(failure) = start(client, &mut portal).await?
    {
        return Ok(Err(failure));
    }
    let own = portal.prepared.command.as_ref().map(command::columns).unwrap_or_default();
    match &portal.state {
        State::Rows(cursor) => client.answers.row_description(&cursor.fields),
        _ if own.is_empty() => client.answers.no_data(),
        _ => client.answers.row_description(&text_fields(&own, &portal.formats)),
    }
    client.keep_portal(name, portal);
    Ok(Ok(()))
}

/// Runs the statement of a portal up to its first rows.
async fn start(client: &mut Client, portal: &mut Portal) -> Result<Outcome<()>> {
    let prepared = Arc::clone(&portal.prepared);
    let parameters = std::mem::take(&mut portal.parameters);
    let (prepared, parameters) = match &prepared.command {
        Some(PostgresCommand::Statement { .. }) => (prepared, parameters),
        Some(PostgresCommand::Execute { name, values }) => match client.statement(name) {
            Ok(found) => {
                let parameters = script::given_values(&found, values.clone());
                (found, parameters)
            }
            Err(failure) => return Ok(Err(failure)),
        },
        Some(other) => {
            let answered = command::run(client, other, &prepared.text).await?;
            return Ok(answered.map(|answer| portal.state = State::Answered { answer, sent: 0 }));
        }
        None => return Ok(Ok(())),
    };
    let started = execution::start_checked(client, &prepared, parameters, &portal.formats).await?;
    Ok(started.map(|started| {
        portal.state = match started {
            Started::Rows(cursor) => State::Rows(cursor),
            Started::Done(summary) => {
                State::Done(execution::done_tag(prepared.engine_tag().unwrap_or("OK"), &summary))
            }
        };
    }))
}

async fn execute(client: &mut Client, name: String, rows_max: u32) -> Result<Outcome<()>> {
    let mut portal = match client.take_portal(&name) {
        Ok(portal) => portal,
        Err(failure) => return Ok(Err(failure)),
    };
    let prepared = Arc::clone(&portal.prepared);
    match &prepared.command {
        None => {
            client.answers.empty_query();
            client.keep_portal(name, portal);
            return Ok(Ok(()));
        }
        Some(PostgresCommand::Copy(copy)) => return script::run_copy(client, &prepared.text, copy).await,
        Some(_) => {}
    }
    if matches!(portal.state, State::Bound)
        && let Err(failure) = start(client, &mut portal).await?
    {
        return Ok(Err(failure));
    }
    portal.state = match portal.state {
        State::Rows(cursor) => match execution::send_rows(client, cursor, rows_max).await? {
            Ok((cursor, has_more)) => {
                match has_more {
                    true => client.answers.portal_suspended(),
                    false => client.answers.command_complete(&cursor.tag()),
                }
                State::Rows(cursor)
            }
            Err(failure) => return Ok(Err(failure)),
        },
        State::Answered { answer, sent } => {
            let most = if rows_max == 0 { usize::MAX } else { rows_max as usize };
            let sent = answer.put_rows(sent, most, &mut client.answers);
            match sent < answer.rows.len() {
                true => client.answers.portal_suspended(),
                false => client.answers.command_complete(&answer.tag),
            }
            State::Answered { answer, sent }
        }
        other => other,
    };
    if let State::Done(tag) = &portal.state {
        client.answers.command_complete(tag);
    }
    client.keep_portal(name, portal);
    Ok(Ok(()))
}
