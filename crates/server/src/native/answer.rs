//! A statement on the threads of queries: its packets go to the connection as events.

use basalt_engine::{
    CancelHandle, ExternalTable, Input, Interface, Outcome, Progress, Request, Result, Session,
};
use basalt_wire::native::{PacketWriter, Query, ResultWriter, Setting};
use tokio::sync::mpsc;

use super::pipe::PipeWriter;
use super::upload::{Upload, gone};

/// What a running statement tells its connection.
pub(super) enum Event {
    /// Packets for the client.
    Bytes(Vec<u8>),
    /// The client's blocks go to this pipe from now on.
    Upload(PipeWriter),
    /// The figures of a query whose rows are being computed.
    Running(Progress),
}

/// A statement that is ready to run.
pub(super) struct Statement {
    pub(super) session: Session,
    pub(super) query: Query,
    pub(super) tables: Vec<ExternalTable>,
    pub(super) revision: u64,
    pub(super) writer: PacketWriter,
    pub(super) cancel: CancelHandle,
    pub(super) events: mpsc::Sender<Event>,
}

/// Runs the statement. Returns its session for the next one, and the result.
pub(super) async fn run(statement: Statement) -> (Session, Result<()>) {
    let Statement { mut session, query, tables, revision, writer, cancel, events } = statement;
    let upload = Upload { events: events.clone(), writer, revision, is_compressed: query.is_compressed };
    let request = match request(&session, query, tables, upload, cancel) {
        Ok(request) => request,
        Err(error) => return (session, Err(error)),
    };
    let result = match session.execute(request).await {
        Ok(Outcome::Done(_)) => Ok(()),
        Ok(Outcome::Rows(rows)) => {
            let progress = rows.progress();
            let encoder = ResultWriter::new(writer, rows.columns().clone());
            let mut bytes = rows.into_bytes_of(Box::new(encoder));
            match events.send(Event::Running(progress)).await {
                Ok(()) => send_all(&mut bytes, &events).await,
                Err(_) => Err(gone()),
            }
        }
        Err(error) => Err(error),
    };
    (session, result)
}

async fn send_all(bytes: &mut basalt_engine::ResultBytes, events: &mpsc::Sender<Event>) -> Result<()> {
    while let Some(piece) = bytes.next().await? {
        events.send(Event::Bytes(piece)).await.map_err(|_| gone())?;
    }
    Ok(())
}

fn request(
    session: &Session,
    query: Query,
    tables: Vec<ExternalTable>,
    upload: Upload,
    cancel: CancelHandle,
) -> Result<Request> {
    let mut request = Request::new(query.text);
    request.settings = known_settings(session, query.settings)?;
    request.parameters.extend(query.parameters);
    request.query_id = (!query.id.is_empty()).then_some(query.id);
    request.input = Input::Blocks(Box::new(upload));
    request.external_tables = tables;
    request.interface = Interface::Tcp;
    request.cancel = cancel;
    Ok(request)
}

/// The settings of a client. Those that the server does not know are left out, unless the client says that they are
/// important.
fn known_settings(session: &Session, settings: Vec<Setting>) -> Result<Vec<(String, String)>> {
    let mut known = Vec::new();
    for Setting { name, value, is_important } in settings {
        match session.setting(&name) {
            Ok(_) => known.push((name, value)),
            Err(error) if is_important => return Err(error),
            Err(_) => {}
        }
    }
    Ok(known)
}
