//! A statement, from its packet to the end of its answer.

use std::sync::Arc;

use basalt_engine::{CancelHandle, Error, ErrorCode, Result};
use basalt_wire::frame::Method;
use basalt_wire::native::{DataState, PacketWriter, Query, Stage};
use tokio::sync::mpsc;

use super::answer::{self, Statement};
use super::conversation::Conversation;
use super::external;
use super::protocol::Client;
use crate::shared::Shared;

/// Packets that may wait for the client.
const EVENTS_WAITING: usize = 2;

/// Runs the statement and sends its answer. The error that is returned ends the connection; an error of the statement
/// is sent as a packet.
pub(super) async fn answer(shared: &Arc<Shared>, client: &mut Client, query: Query) -> Result<()> {
    let compression = if query.is_compressed { Some(compression_method(&query)?) } else { None };
    let writer = PacketWriter::new(client.revision, compression);
    let is_compressed = query.is_compressed;
    let tables = external::read(shared, client, is_compressed).await?;
    let ended = match tables.and_then(|tables| whole(&query).map(|()| tables)) {
        Ok(tables) => run(shared, client, query, tables, writer).await?,
        Err(error) => Ended { result: Err(error), upload: None },
    };
    let mut packet = Vec::new();
    match &ended.result {
        Ok(()) => writer.end_of_stream(&mut packet),
        Err(error) => writer.exception(error, &mut packet),
    }
    client.channel.send(&packet).await?;
    match ended.upload {
        None | Some(DataState::Ended) => Ok(()),
        // The client goes on sending its blocks before it reads the error.
        Some(DataState::BetweenPackets) => external::skip(shared, client, is_compressed).await,
        Some(DataState::Broken) => Err(Error::new(
            ErrorCode::UnexpectedPacketFromClient,
            "the rest of the data cannot be read after this error",
        )),
    }
}

fn compression_method(query: &Query) -> Result<Method> {
    let named = query.settings.iter().rev().find(|setting| setting.name == "network_compression_method");
    named.map_or(Ok(Method::default()), |setting| Method::parse(&setting.value))
}

/// Fails for a statement that is a part of a distributed one.
fn whole(query: &Query) -> Result<()> {
    match query.stage {
        Stage::Complete => Ok(()),
        stage => Err(Error::not_implemented(format!(
            "a part of a distributed query (stage {stage:?}): only whole statements are executed"
        ))),
    }
}

/// How a statement ended.
struct Ended {
    result: Result<()>,
    /// Where the blocks of an INSERT ended, if the client was asked for them.
    upload: Option<DataState>,
}

async fn run(
    shared: &Arc<Shared>,
    client: &mut Client,
    query: Query,
    tables: Vec<basalt_engine::ExternalTable>,
    writer: PacketWriter,
) -> Result<Ended> {
    let Some(session) = client.session.take() else {
        return Err(Error::logical("a statement began before the one before it had ended"));
    };
    let cancel = CancelHandle::default();
    let (events, received) = mpsc::channel(EVENTS_WAITING);
    let running = shared.queries.spawn(answer::run(Statement {
        session,
        query,
        tables,
        revision: client.revision,
        writer,
        cancel: cancel.clone(),
        events,
    }));
    let mut conversation = Conversation::new(&mut client.channel, received, writer, cancel);
    conversation.until_end().await?;
    let upload = conversation.end_of_upload().await;
    let was_cancelled = conversation.was_cancelled();
    let (session, result) =
        running.await.map_err(|panic| Error::logical(format!("the query ended early: {panic}")))?;
    client.session = Some(session);
    let result = match result {
        // The client asked for it, and waits for the end alone.
        Err(error) if was_cancelled && error.code() == ErrorCode::QueryWasCancelled => Ok(()),
        result => result,
    };
    Ok(Ended { result, upload })
}
