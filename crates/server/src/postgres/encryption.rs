//! TLS on the port of PostgreSQL: a client asks for it in its first message, or begins with it at once.

use std::sync::Arc;

use basalt_engine::Result;

use super::failure::{Failure, Outcome, state};
use crate::connections::Channel;
use crate::tls::{Application, Tls, is_hello};

const YES: &[u8] = b"S";
const NO: &[u8] = b"N";

/// Does the handshake with a client that begins with it, as from PostgreSQL 17 on. Such a client must name the protocol.
pub(super) async fn begin_at_once(channel: &mut Channel, tls: Option<&Arc<Tls>>) -> Result<Outcome<()>> {
    let Some(tls) = tls else { return Ok(Ok(())) };
    if !channel.first_byte().await?.is_some_and(is_hello) {
        return Ok(Ok(()));
    }
    channel.secure(tls, Application::Postgres).await?;
    if channel.application_name() != Application::Postgres.name() {
        let what = "a client that begins with TLS at once must name the protocol `postgresql` (ALPN)";
        return Ok(Err(Failure::new(state::PROTOCOL_VIOLATION, what)));
    }
    Ok(Ok(()))
}

/// Answers a client that asks for TLS.
pub(super) async fn begin(channel: &mut Channel, tls: Option<&Arc<Tls>>) -> Result<()> {
    match tls {
        Some(tls) if !channel.peer().is_encrypted => {
            channel.send(YES).await?;
            channel.secure(tls, Application::Postgres).await
        }
        _ => refuse(channel).await,
    }
}

/// Tells a client that there is no encryption of the kind that it asks for.
pub(super) async fn refuse(channel: &mut Channel) -> Result<()> {
    channel.send(NO).await
}

/// Fails if the client should have asked for TLS and has not.
pub(super) fn check(channel: &Channel, tls: Option<&Arc<Tls>>) -> Outcome<()> {
    match tls {
        Some(tls) if tls.requires_for_postgres() && !channel.peer().is_encrypted => {
            let what = "the server accepts encrypted connections only: connect with sslmode=require";
            Err(Failure::new(state::INVALID_AUTHORIZATION, what))
        }
        _ => Ok(()),
    }
}
