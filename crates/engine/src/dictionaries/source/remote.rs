//! The source CLICKHOUSE on another host: a table or a query of a server, over its HTTP interface.

use arrow::array::ArrayRef;
use basalt_base::{Result, bail};
use basalt_sources::http::HttpRequest;

use super::formatted::read_rows;
use super::parameters::Parameters;
use super::row_source::{Timeouts, UpdateField};
use super::select::{Dialect, From, Select};
use super::tls::{Tls, TlsDefaults};
use super::{Blocks, LoadRequest, RowRange, RowSource};

/// The ports of ClickHouse's native protocol, which is not implemented.
const NATIVE_PORTS: [u64; 2] = [9000, 9440];
const HTTP_PORT: u64 = 8123;
const HTTPS_PORT: u64 = 8443;
/// The format of the rows, whose texts are unambiguous for every type.
const FORMAT: &str = "TabSeparated";
const REVISION_BYTES_MAX: u64 = 1 << 20;
/// Keys in one query.
const KEYS_A_QUERY: usize = 8192;

pub(super) struct RemoteSource {
    address: String,
    request: HttpRequest,
    tls: Tls,
    select: Select,
}

impl RemoteSource {
    /// The source on `host`; the parameters of SELECT were taken already.
    pub(super) fn parse(host: &str, parameters: &Parameters<'_>, select: Select) -> Result<RemoteSource> {
        let tls = Tls::parse(parameters, TlsDefaults::BY_PORT)?;
        let (scheme, usual) = if tls.is_on() { ("https", HTTPS_PORT) } else { ("http", HTTP_PORT) };
        let port = parameters.number("port", usual)?;
        if NATIVE_PORTS.contains(&port) {
            bail!(
                NotImplemented,
                "port {port} of {host} speaks ClickHouse's native protocol, which is not implemented: name its HTTP \
                 port, usually {usual}"
            );
        }
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let address = format!("{host}:{port}");
        let mut request = HttpRequest { url: format!("{scheme}://{address}/"), ..HttpRequest::default() };
        // HTTP has its own chunked encoding.
        for name in ["proto_send_chunked", "proto_recv_chunked"] {
            parameters.text(name)?;
        }
        let headers = [
            ("X-ClickHouse-User", "user"),
            ("X-ClickHouse-Key", "password"),
            ("X-ClickHouse-Quota", "quota_key"),
        ];
        for (header, parameter) in headers {
            if let Some(value) = parameters.text(parameter)?.filter(|value| !value.is_empty()) {
                request.headers.push((header.to_owned(), value));
            }
        }
        Ok(RemoteSource { address, request, tls, select })
    }

    fn ask(&self, load: &LoadRequest, text: &str) -> Result<Box<dyn std::io::Read + Send>> {
        load.permit_url(&self.request.url)?;
        let mut request = HttpRequest { tls: self.tls.options(load)?, ..self.request.clone() };
        request.add_parameter("default_format", FORMAT);
        request.body = Some(text.as_bytes().to_vec());
        request.send(&load.limits(Timeouts::ClickHouse))
    }
}

impl RowSource for RemoteSource {
    fn describe(&self, database: &str) -> String {
        match &self.select.from {
            From::Table(own, table) => {
                format!("ClickHouse: {} {}.{table}", self.address, own.as_deref().unwrap_or(database))
            }
            From::Query(_) => format!("ClickHouse: {} query", self.address),
        }
    }

    fn rows(&self, load: &LoadRequest, range: RowRange) -> Result<Blocks> {
        let text = self.select.text(Dialect::ClickHouse, load, range);
        let body = self.ask(load, &text)?;
        super::formatted::read_timed_rows(load, FORMAT, body, &self.address, self.tells_update_time())
    }

    fn rows_of(&self, load: &LoadRequest, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let rows = keys.first().map_or(0, |key| key.len());
        let mut found = Vec::new();
        for first in (0..rows).step_by(KEYS_A_QUERY) {
            let count = KEYS_A_QUERY.min(rows - first);
            let keys: Vec<ArrayRef> = keys.iter().map(|key| key.slice(first, count)).collect();
            let text = self.select.text_of_keys(Dialect::ClickHouse, load, &keys)?;
            let blocks = read_rows(load, FORMAT, self.ask(load, &text)?, &self.address)?;
            found.extend(blocks.collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }

    fn takes_expressions(&self) -> bool {
        true
    }

    fn update_field(&self) -> Option<&UpdateField> {
        self.select.update.as_ref()
    }

    fn revision(&self, load: &LoadRequest) -> Result<Option<String>> {
        let Some(text) = &self.select.invalidate_query else { return Ok(None) };
        let mut revision = String::new();
        let read = std::io::Read::take(self.ask(load, text)?, REVISION_BYTES_MAX);
        std::io::read_to_string(read).map(|text| revision = text).map_err(|error| {
            basalt_base::Error::new(basalt_base::ErrorCode::NetworkError, error.to_string())
        })?;
        Ok(Some(revision))
    }
}
