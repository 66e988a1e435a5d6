//! COPY TO STDOUT: the rows of a query as data for the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_engine::postgres::{Literal, Setting};
use basalt_engine::{
    CancelHandle, Error, ErrorCode, Interface, Outcome as EngineOutcome, Request, Result, Session,
};
use basalt_formats::{CopyDirection, CopyOptions, FormatSettings};
use basalt_wire::postgres::{CopyForm, CopyOutWriter, Format, MessageWriter, ResultColumn};
use tokio::sync::mpsc;

use super::client::Client;
use super::failure::{Failure, Outcome, state};
use super::work;

/// Sends the rows of `query`. Returns their number.
pub(super) async fn run(client: &mut Client, query: &str, options: &[Setting]) -> Result<Outcome<u64>> {
    let form = match form(options) {
        Ok(form) => form,
        Err(failure) => return Ok(Err(failure)),
    };
    let cancel = CancelHandle::default();
    let mut request = Request::new(query);
    request.interface = Interface::Postgres;
    request.cancel = cancel.clone();
    let zone = client.zone()?;
    let copied = work::run(client, cancel, |mut session, pieces| async move {
        let copied = copy(&mut session, request, form, zone, &pieces).await;
        (session, copied)
    });
    Ok(copied.await?.map_err(Failure::from))
}

async fn copy(
    session: &mut Session,
    request: Request,
    form: CopyForm,
    zone: basalt_base::zone::Zone,
    pieces: &mpsc::Sender<Vec<u8>>,
) -> Result<u64> {
    let EngineOutcome::Rows(rows) = session.execute(request).await? else {
        return Err(Error::new(ErrorCode::BadArguments, "COPY TO needs a query that gives rows"));
    };
    let gone = || Error::new(ErrorCode::NetworkError, "the client disconnected");
    let mut head = MessageWriter::default();
    head.copy_out(form.format(), rows.columns().len());
    pieces.send(head.bytes).await.map_err(|_| gone())?;
    let names = rows.columns().iter().map(|column| column.name.clone()).collect();
    let format: Format = form.format();
    let columns = rows.columns().iter().zip(rows.postgres_types());
    let columns =
        columns.map(|(column, ty)| ResultColumn { ty: column.ty.clone(), oid: ty.oid, format }).collect();
    let count = Arc::new(AtomicU64::new(0));
    let writer = CopyOutWriter::new(form, names, columns, zone, Arc::clone(&count));
    let mut bytes = rows.into_bytes_of(Box::new(writer));
    while let Some(piece) = bytes.next().await? {
        pieces.send(piece).await.map_err(|_| gone())?;
    }
    let mut end = MessageWriter::default();
    end.copy_done();
    pieces.send(end.bytes).await.map_err(|_| gone())?;
    Ok(count.load(Ordering::Relaxed))
}

/// The form that the options name.
pub(super) fn form(options: &[Setting]) -> Outcome<CopyForm> {
    let text = |setting: &Setting| match &setting.value {
        Literal::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Literal::Bool(value) => value.to_string(),
        other => other.to_string(),
    };
    let is_binary =
        |setting: &Setting| setting.name == "format" && text(setting).eq_ignore_ascii_case("binary");
    if options.iter().any(is_binary) {
        return match options {
            [_] => Ok(CopyForm::Binary),
            _ => {
                Err(Failure::new(state::FEATURE_NOT_SUPPORTED, "COPY in binary format has no other options"))
            }
        };
    }
    let mut copy = CopyOptions::default();
    for option in options {
        copy.set(&option.name, Some(&text(option)))?;
    }
    let (format, settings) = copy.resolve(CopyDirection::Out, &FormatSettings::default());
    let header = format.ends_with("WithNames");
    Ok(match format.starts_with("CSV") {
        true => CopyForm::Csv { delimiter: settings.csv.delimiter, null: settings.csv.null, header },
        false => CopyForm::Text { delimiter: settings.tsv.delimiter, null: settings.tsv.null, header },
    })
}
