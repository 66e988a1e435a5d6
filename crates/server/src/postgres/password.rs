//! The password of a client: as text, or by SCRAM-SHA-256 for a user who has a password for it.

use std::sync::Arc;

use basalt_engine::{Result, SCRAM_SHA_256, ScramExchange, ScramSecret};
use basalt_wire::postgres::{ClientMessage, MessageWriter, SaslResponse};

use super::failure::{Failure, Outcome, state};
use crate::connections::Channel;
use crate::shared::Shared;

/// The name of the user. A user with a password is asked for it; `None` if the client has gone instead.
pub(super) async fn authenticate(
    shared: &Arc<Shared>,
    channel: &mut Channel,
    user: &str,
    answers: &mut MessageWriter,
) -> Result<Option<Outcome<String>>> {
    if let Some(user) = shared.users.needs_no_password(user, channel.peer()) {
        return Ok(Some(Ok(user)));
    }
    match shared.users.scram_secret(user) {
        Some(secret) => by_scram(shared, channel, user, secret, answers).await,
        None => by_text(shared, channel, user, answers).await,
    }
}

async fn by_text(
    shared: &Arc<Shared>,
    channel: &mut Channel,
    user: &str,
    answers: &mut MessageWriter,
) -> Result<Option<Outcome<String>>> {
    answers.authentication_password();
    let password = match ask(channel, answers).await? {
        Some(Ok(bytes)) => bytes,
        Some(Err(failure)) => return Ok(Some(Err(failure))),
        None => return Ok(None),
    };
    let text = String::from_utf8_lossy(password.strip_suffix(b"\0").unwrap_or(&password)).into_owned();
    let checked = shared.users.authenticate(user, &text, channel.peer()).await;
    Ok(Some(checked.map_err(refused)))
}

async fn by_scram(
    shared: &Arc<Shared>,
    channel: &mut Channel,
    user: &str,
    secret: ScramSecret,
    answers: &mut MessageWriter,
) -> Result<Option<Outcome<String>>> {
    answers.authentication_sasl(&[SCRAM_SHA_256]);
    let first = match ask(channel, answers).await? {
        Some(Ok(bytes)) => bytes,
        Some(Err(failure)) => return Ok(Some(Err(failure))),
        None => return Ok(None),
    };
    let exchange = match begin(secret, &first) {
        Ok(exchange) => exchange,
        Err(failure) => return Ok(Some(Err(failure))),
    };
    answers.authentication_sasl_continue(exchange.challenge().as_bytes());
    let last = match ask(channel, answers).await? {
        Some(Ok(bytes)) => bytes,
        Some(Err(failure)) => return Ok(Some(Err(failure))),
        None => return Ok(None),
    };
    let proved = match exchange.finish(&last) {
        Ok(proved) => proved,
        Err(error) => return Ok(Some(Err(Failure::new(state::PROTOCOL_VIOLATION, error.message())))),
    };
    if let Some(signature) = &proved {
        answers.authentication_sasl_final(signature.as_bytes());
    }
    let checked = shared.users.finish_scram(user, proved.is_some(), channel.peer()).await;
    Ok(Some(checked.map_err(refused)))
}

fn begin(secret: ScramSecret, first: &[u8]) -> Outcome<ScramExchange> {
    let violated = |why: &str| Failure::new(state::PROTOCOL_VIOLATION, why);
    let response =
        SaslResponse::read(first).map_err(|_| violated("expected the first message of an exchange"))?;
    if response.mechanism != SCRAM_SHA_256 {
        return Err(violated("the only mechanism is SCRAM-SHA-256"));
    }
    ScramExchange::begin(secret, &response.data).map_err(|error| violated(error.message()))
}

/// Sends what is asked, and waits for the answer; `None` if the client has gone instead.
async fn ask(channel: &mut Channel, answers: &mut MessageWriter) -> Result<Option<Outcome<Vec<u8>>>> {
    channel.send(&std::mem::take(&mut answers.bytes)).await?;
    Ok(match channel.message(channel.limits().login, ClientMessage::read).await? {
        None | Some(ClientMessage::Terminate) => None,
        Some(ClientMessage::Password(bytes)) => Some(Ok(bytes)),
        Some(_) => Some(Err(Failure::new(state::PROTOCOL_VIOLATION, "expected a password"))),
    })
}

fn refused(error: basalt_engine::Error) -> Failure {
    Failure::new(state::INVALID_PASSWORD, error.message())
}
