//! The source HTTP: the answer of a server in any input format. Keys are sent as the body of a POST.

use std::time::Duration;

use arrow::array::ArrayRef;
use basalt_base::Result;
use basalt_sources::http::{HttpRequest, Retries, check_url};

use super::formatted::{checked_format, read_rows, write_keys};
use super::parameters::Parameters;
use super::row_source::{Timeouts, UpdateField, time_text};
use super::select::update_field;
use super::tls::{TLS_PARAMETERS, Tls, TlsDefaults, refuse};
use super::{Blocks, LoadRequest, RowRange, RowSource};

/// The longest pause between two tries.
const PAUSE_MS_MAX: u64 = 3_600_000;

pub(super) struct HttpSource {
    request: HttpRequest,
    /// For an https address.
    tls: Option<Tls>,
    format: String,
    update: Option<UpdateField>,
}

impl HttpSource {
    pub(super) fn parse(parameters: &Parameters<'_>) -> Result<HttpSource> {
        let url = joined(parameters.required("url")?, &parameters.text("endpoint")?.unwrap_or_default());
        let mut request = HttpRequest { url, ..HttpRequest::default() };
        check_url(&request.url)?;
        let format = checked_format(parameters.required("format")?)?;
        if let Some(credentials) = parameters.nested("credentials")? {
            let user = credentials.required("user")?;
            request.authorize(&user, &credentials.text("password")?.unwrap_or_default());
            credentials.finish(&["user", "password"])?;
        }
        if let Some(headers) = parameters.nested("headers")? {
            for header in headers.all_nested("header")? {
                request.headers.push((header.required("name")?, header.required("value")?));
                header.finish(&["name", "value"])?;
            }
            headers.finish(&["header"])?;
        }
        let update = update_field(parameters)?;
        let tls = if request.url.starts_with("https:") {
            let tls = Tls::parse(parameters, TlsDefaults::HTTPS)?;
            if !tls.is_on() {
                return Err(parameters.wrong("ssl_mode", "at odds with an https address"));
            }
            Some(tls)
        } else {
            refuse(parameters, "the address is no https address")?;
            None
        };
        let own = ["url", "endpoint", "format", "credentials", "headers", "update_field", "update_lag"];
        parameters.finish(&[&own[..], &TLS_PARAMETERS].concat())?;
        Ok(HttpSource { request, tls, format, update })
    }
}

impl HttpSource {
    fn request(&self, load: &LoadRequest) -> Result<HttpRequest> {
        let mut request = self.request.clone();
        load.permit_url(&request.url)?;
        let settings = &load.settings;
        let pause = Duration::from_millis;
        let longest = settings.http_retry_max_backoff_ms.min(PAUSE_MS_MAX);
        let first = settings.http_retry_initial_backoff_ms.min(longest);
        request.retries =
            Retries { tries_max: settings.http_max_tries, pauses: (pause(first), pause(longest)) };
        // The target of a redirect is unknown beforehand, so a list of allowed hosts forbids redirects.
        request.redirects_max = match load.host.policy().remote_hosts.are_all() {
            true => u32::try_from(settings.max_http_get_redirects).unwrap_or(u32::MAX),
            false => 0,
        };
        if let Some(tls) = &self.tls {
            request.tls = tls.options(load)?;
        }
        Ok(request)
    }
}

impl RowSource for HttpSource {
    fn describe(&self, _database: &str) -> String {
        self.request.url.clone()
    }

    fn rows(&self, load: &LoadRequest, range: RowRange) -> Result<Blocks> {
        let mut request = self.request(load)?;
        if let (RowRange::Since(seconds), Some(field)) = (range, &self.update) {
            request.add_parameter(&field.name, &time_text(load, seconds));
        }
        let body = request.send(&load.limits(Timeouts::Http))?;
        read_rows(load, &self.format, body, &self.request.url)
    }

    fn rows_of(&self, load: &LoadRequest, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let mut request = self.request(load)?;
        request.body = Some(write_keys(load, &self.format, keys)?);
        let body = request.send(&load.limits(Timeouts::Http))?;
        read_rows(load, &self.format, body, &self.request.url)?.collect()
    }

    fn update_field(&self) -> Option<&UpdateField> {
        self.update.as_ref()
    }

    fn tells_update_time(&self) -> bool {
        false
    }
}

/// An address and an endpoint, with one slash between them.
fn joined(mut url: String, endpoint: &str) -> String {
    if !endpoint.is_empty() {
        url.truncate(url.trim_end_matches('/').len());
        url.push('/');
        url.push_str(endpoint.trim_start_matches('/'));
    }
    url
}
