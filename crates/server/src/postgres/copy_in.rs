//! COPY FROM STDIN: the data of the client become rows, or all of them are refused.

use std::io::Read;
use std::time::Duration;

use basalt_engine::postgres::Setting;
use basalt_engine::{
    CancelHandle, Error, Input, Interface, Outcome as EngineOutcome, Request, Result, Session,
};
use basalt_wire::postgres::{ArrayCopy, BinaryCopy, ClientMessage, CopyForm};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::client::Client;
use super::copy_out::form;
use super::copy_pipe::{EndMark, Piece, pipe};
use super::failure::{Failure, Outcome};
use super::work::{self, CancelOnDrop};
use crate::connections::broken_off;

/// How long a client may pause within its data.
const PAUSE: Duration = Duration::from_secs(3600);

/// Copies the data into `target`, whose columns `query` selects. `text` is the statement. Returns the number of rows.
pub(super) async fn run(
    client: &mut Client,
    text: &[u8],
    target: &str,
    query: &str,
    options: &[Setting],
) -> Result<Outcome<u64>> {
    let form = match form(options) {
        Ok(form) => form,
        Err(failure) => return Ok(Err(failure)),
    };
    let types = match column_types(client, query).await? {
        Ok(types) => types,
        Err(failure) => return Ok(Err(failure)),
    };
    client.answers.copy_in(form.format(), types.len());
    client.flush().await?;
    let (pieces, reader) = pipe();
    let text = match form {
        CopyForm::Binary => format!("COPY {target} FROM STDIN").into_bytes(),
        _ => text.to_vec(),
    };
    let input: Box<dyn Read + Send> = match &form {
        CopyForm::Binary => Box::new(BinaryCopy::new(reader, types)),
        CopyForm::Text { delimiter: b'\t', null, header: false } if ArrayCopy::<&[u8]>::is_needed(&types) => {
            Box::new(ArrayCopy::new(reader, types, null))
        }
        _ => Box::new(reader),
    };
    let mut request = Request::new(text);
    request.interface = Interface::Postgres;
    request.input = Input::Reader(input);
    let is_binary = form == CopyForm::Binary;
    receive(client, request, pieces, is_binary).await
}

/// The numbers of the columns' types.
async fn column_types(client: &mut Client, query: &str) -> Result<Outcome<Vec<u32>>> {
    let query = query.as_bytes().to_vec();
    let described = work::run(client, CancelHandle::default(), |mut session, _| async move {
        let described = session.describe_postgres(&query, &[]).await;
        (session, described)
    });
    let described = described.await?.map_err(Failure::from);
    Ok(described.map(|found| found.postgres_types.iter().map(|ty| ty.oid).collect()))
}

type Running = JoinHandle<(Session, Result<EngineOutcome>)>;

/// Runs the statement, and gives it what the client sends.
async fn receive(
    client: &mut Client,
    mut request: Request,
    pieces: mpsc::Sender<Piece>,
    is_binary: bool,
) -> Result<Outcome<u64>> {
    let Some(mut session) = client.session.take() else { return Err(Error::logical("no session")) };
    let cancel = CancelHandle::default();
    request.cancel = cancel.clone();
    client.key.set(Some(cancel.clone()));
    let going = CancelOnDrop::new(cancel);
    let mut running: Running = client.shared.queries.spawn(async move {
        let outcome = session.execute(request).await;
        (session, outcome)
    });
    let ended = feed(client, pieces, &mut running, is_binary).await?;
    going.disarm();
    client.key.set(None);
    let (session, outcome) = ended.map_err(|panic| Error::logical(format!("COPY ended early: {panic}")))?;
    client.session = Some(session);
    Ok(match outcome {
        Ok(EngineOutcome::Done(summary)) => Ok(summary.progress.written_rows),
        Ok(EngineOutcome::Rows(_)) => Err(Error::logical("COPY FROM gave rows").into()),
        Err(error) => Err(error.into()),
    })
}

type Ended = std::result::Result<(Session, Result<EngineOutcome>), tokio::task::JoinError>;

/// Gives the statement the client's data until it has ended.
async fn feed(
    client: &mut Client,
    pieces: mpsc::Sender<Piece>,
    running: &mut Running,
    is_binary: bool,
) -> Result<Ended> {
    let mut mark = EndMark::default();
    let mut pieces = Some(pieces);
    while let Some(sender) = &pieces {
        let message = tokio::select! {
            ended = &mut *running => return Ok(ended),
            message = client.channel.message(PAUSE, ClientMessage::read) => message?,
        };
        let piece = match message.ok_or_else(broken_off)? {
            ClientMessage::CopyData(mut bytes) => {
                let is_last = !is_binary && mark.cut(&mut bytes);
                (Piece::Data(bytes), is_last)
            }
            ClientMessage::CopyDone => (Piece::End, true),
            ClientMessage::CopyFail(reason) => (Piece::Failed(reason), true),
            ClientMessage::Flush | ClientMessage::Sync => continue,
            ClientMessage::Terminate => return Err(broken_off()),
            other => (Piece::Failed(format!("unexpected message {other:.40?} within the data")), true),
        };
        let (piece, is_last) = piece;
        let ends_by_mark = is_last && matches!(piece, Piece::Data(_));
        tokio::select! {
            // A statement that takes no more has ended, or is about to.
            _ = sender.send(piece) => {}
            ended = &mut *running => return Ok(ended),
        }
        if ends_by_mark {
            let _ = sender.send(Piece::End).await;
        }
        if is_last {
            pieces = None;
        }
    }
    loop {
        tokio::select! {
            ended = &mut *running => return Ok(ended),
            received = client.channel.receive(), if client.channel.arrived().is_empty() => {
                if received? == 0 {
                    return Err(broken_off());
                }
            }
        }
    }
}
