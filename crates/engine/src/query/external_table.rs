//! External tables out of bytes of a format.

use basalt_base::{Error, Result};
use basalt_formats::{Callbacks, FormatSettings};

use crate::context::{QueryContext, format_settings};
use crate::request::{CancelHandle, ExternalTable, ExternalTableText};
use crate::session_state::SessionState;
use crate::structure::columns_of;
use crate::tables::CastConverter;

/// Parses the tables, on a thread that may block.
pub(crate) async fn read_tables(
    session: &SessionState,
    tables: Vec<ExternalTableText>,
) -> Result<Vec<ExternalTable>> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let (services, settings) = (session.instance.services(), session.settings.clone());
    let query = QueryContext::new(services, String::new(), "", settings, CancelHandle::default());
    let (settings, zone) = (format_settings(&query), query.zone);
    let callbacks = Callbacks { converter: Some(CastConverter::shared(zone)), ..Callbacks::default() };
    let work = move || tables.into_iter().map(|table| read(table, &settings, &callbacks)).collect();
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|panic| Err(Error::logical(format!("external tables ended early: {panic}"))))
}

fn read(table: ExternalTableText, settings: &FormatSettings, callbacks: &Callbacks) -> Result<ExternalTable> {
    let name = table.name.clone();
    blocks(table, settings, callbacks).map_err(|error| error.within(format!("external table `{name}`")))
}

fn blocks(
    table: ExternalTableText,
    settings: &FormatSettings,
    callbacks: &Callbacks,
) -> Result<ExternalTable> {
    let ExternalTableText { name, structure, format, bytes } = table;
    let columns = match &structure {
        Some(text) => columns_of(text, "_")?,
        None => basalt_formats::infer_schema(&format, &mut bytes.as_slice(), settings)?,
    };
    let input = Box::new(std::io::Cursor::new(bytes));
    let mut reader = basalt_formats::open_reader_with(&format, &columns, settings, input, callbacks.clone())?;
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block()? {
        blocks.push(block.batch);
    }
    Ok(ExternalTable { name, columns, blocks })
}
