//! The figures of the server, in the text format of Prometheus, with ClickHouse's names.

use std::sync::Arc;

use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use basalt_engine::Result;

use super::authentication::Credentials;
use super::parameters::Parameters;
use super::{HttpState, authentication, failure, query};
use crate::connections::Peer;

/// The version of the format that Prometheus asks for.
const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=UTF-8");

/// One row for each figure: what it means, what it is, and its value.
const STATEMENT: &str = "
SELECT concat('# HELP ', name, ' ', if(empty(help), 'See system.events.', replaceAll(help, '\\n', ' ')),
              '\\n# TYPE ', name, ' ', kind, '\\n', name, ' ', value)
FROM (
    SELECT concat('ClickHouseProfileEvents_', event) AS name, 'counter' AS kind, description AS help,
           toString(value) AS value
    FROM system.events
    UNION ALL
    SELECT concat('ClickHouseMetrics_', metric), 'gauge', description, toString(value) FROM system.metrics
    UNION ALL
    SELECT concat('ClickHouseAsyncMetrics_', replaceRegexpAll(metric, '[^A-Za-z0-9_:]', '_')), 'gauge', description,
           toString(value)
    FROM system.asynchronous_metrics
)
ORDER BY name
FORMAT TabSeparatedRaw";

/// Answers with all figures, or with the error of a caller who may not read them.
pub(super) async fn answer(State(state): State<Arc<HttpState>>, request: HttpRequest) -> Response {
    match figures(&state, request).await {
        Ok(mut response) => {
            response.headers_mut().insert(header::CONTENT_TYPE, CONTENT_TYPE);
            response
        }
        Err(error) => failure::response(&error, None),
    }
}

async fn figures(state: &HttpState, request: HttpRequest) -> Result<Response> {
    let parameters = Parameters::read(request.uri().query().unwrap_or_default(), request.headers())?;
    let credentials = authentication::find(request.headers(), &parameters)?;
    let peer = query::peer_of(&request)?;
    let user = reader(state, credentials, &peer).await?;
    query::monitor(state, &user, peer.address.ip(), STATEMENT).await
}

/// The user that reads the figures. A caller on this machine needs no password, nor does one with a certificate that
/// the server has verified.
async fn reader(state: &HttpState, credentials: Credentials, peer: &Peer) -> Result<String> {
    let is_anonymous = credentials.user.is_empty() && credentials.password.is_empty();
    let is_trusted = peer.address.ip().is_loopback() || peer.certificate.is_some();
    if is_anonymous && (is_trusted || state.metrics_without_password) {
        return Ok("default".to_owned());
    }
    state.shared.users.authenticate(&credentials.user, &credentials.password, peer).await
}
