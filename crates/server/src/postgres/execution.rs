//! Statements that the engine runs.

use basalt_engine::postgres::PostgresParameter;
use basalt_engine::{CancelHandle, Interface, Outcome as EngineOutcome, Request, Result, Summary};
use basalt_wire::postgres::Format;

use super::client::Client;
use super::failure::{Failure, Outcome};
use super::portal::Cursor;
use super::prepared::Prepared;
use super::work;

/// What a statement of the engine gave.
pub(super) enum Started {
    Rows(Box<Cursor>),
    Done(Summary),
}

/// [`start`], unless the transaction refuses statements.
pub(super) async fn start_checked(
    client: &mut Client,
    prepared: &Prepared,
    parameters: Vec<PostgresParameter>,
    formats: &[Format],
) -> Result<Outcome<Started>> {
    if let Err(failure) = client.transaction.check() {
        return Ok(Err(failure));
    }
    if prepared.engine_tag().is_some_and(writes) {
        client.transaction.write();
    }
    start(client, prepared, parameters, formats).await
}

/// Whether a statement with this tag may change what is stored.
fn writes(tag: &str) -> bool {
    let first = tag.split(' ').next().unwrap_or(tag);
    matches!(first, "INSERT" | "UPDATE" | "DELETE" | "CREATE" | "DROP" | "ALTER" | "TRUNCATE")
}

/// Runs a statement up to the columns of its rows, or to its end.
pub(super) async fn start(
    client: &mut Client,
    prepared: &Prepared,
    parameters: Vec<PostgresParameter>,
    formats: &[Format],
) -> Result<Outcome<Started>> {
    let tag = prepared.engine_tag().unwrap_or("OK");
    let cancel = CancelHandle::default();
    let mut request = Request::new(prepared.text.clone());
    request.interface = Interface::Postgres;
    request.postgres_parameters = parameters;
    request.cancel = cancel.clone();
    let outcome = work::run(client, cancel.clone(), |mut session, _| async move {
        let outcome = session.execute(request).await;
        (session, outcome)
    });
    Ok(match outcome.await? {
        Ok(EngineOutcome::Done(summary)) => Ok(Started::Done(summary)),
        Ok(EngineOutcome::Rows(rows)) => {
            let zone = client.zone()?;
            Cursor::open(*rows, tag, formats, zone, cancel).map(|cursor| Started::Rows(Box::new(cursor)))
        }
        Err(error) => Err(error.into()),
    })
}

/// Sends at most `rows_max` rows of a query, 0 meaning all. Returns the cursor if there may be more.
pub(super) async fn send_rows(
    client: &mut Client,
    mut cursor: Box<Cursor>,
    rows_max: u32,
) -> Result<Outcome<(Box<Cursor>, bool)>> {
    let most = if rows_max == 0 { u64::MAX } else { u64::from(rows_max) };
    let sent = work::run(client, cursor.cancel.clone(), |session, pieces| async move {
        let sent = cursor.send(most, &pieces).await.map(|has_more| (cursor, has_more));
        (session, sent)
    });
    Ok(sent.await?.map_err(Failure::from))
}

/// The tag of a statement without rows.
pub(super) fn done_tag(tag: &'static str, summary: &Summary) -> String {
    match tag {
        "INSERT" => format!("INSERT 0 {}", summary.progress.written_rows),
        "UPDATE" | "DELETE" => format!("{tag} {}", summary.progress.written_rows),
        other => other.to_owned(),
    }
}
