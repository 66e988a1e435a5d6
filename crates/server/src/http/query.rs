//! A request from its head to its answer.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request as HttpRequest;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use basalt_engine::{
    CancelHandle, Engine, Error, ExternalTableText, Input, Interface, Outcome, Request, Result,
};
use uuid::Uuid;

use super::answer::{self, Cancelling};
use super::parameters::Parameters;
use super::statement::Statement;
use super::{HttpState, authentication, encoded_body, failure, form, frames};
use crate::connections::Peer;
use crate::sessions::Lease;

/// Runs the statement of `request`. Errors become responses, too.
pub(super) async fn answer(state: &Arc<HttpState>, request: HttpRequest) -> Response {
    let parameters = Parameters::read(request.uri().query().unwrap_or_default(), request.headers());
    let mut parameters = match parameters {
        Ok(parameters) => parameters,
        Err(error) => return failure::response(&error, None),
    };
    let query_id = parameters.query_id.take().unwrap_or_else(|| Uuid::new_v4().to_string());
    match run(state, request, parameters, query_id.clone()).await {
        Ok(response) => response,
        Err(error) => failure::response(&error, Some(&query_id)),
    }
}

async fn run(
    state: &Arc<HttpState>,
    request: HttpRequest,
    mut parameters: Parameters,
    query_id: String,
) -> Result<Response> {
    let shared = &state.shared;
    let credentials = authentication::find(request.headers(), &parameters)?;
    let peer = peer_of(&request)?;
    let address = peer.address.ip();
    let user = shared.users.authenticate(&credentials.user, &credentials.password, &peer).await?;
    let request = encoded_body::decoded(request, &state.encoded).await?;
    let (request, tables) = form(request, &mut parameters).await?;
    let mut session =
        shared.sessions.lease(&user, &parameters.session, || shared.open_session(&user, address)).await?;
    if !parameters.roles.is_empty() {
        session.set_roles(std::mem::take(&mut parameters.roles))?;
    }
    if let Some(key) = &parameters.quota_key {
        session.set_quota_key(key);
    }
    if let Some(database) = &parameters.database {
        session.use_database(database)?;
    }
    // As in ClickHouse: following a link must not change data.
    let reads_only = *request.method() != Method::POST;
    let body = match parameters.frames_body {
        true => frames::decompressed(request.into_body()),
        false => request.into_body(),
    };
    let statement = state.bodies.read(parameters.query.take(), body).await?;
    let cancel = CancelHandle::default();
    // Dropped with this future if the client disconnects.
    let mut cancelling = Cancelling::new(cancel.clone());
    let response = shared.queries.spawn(execute(Query {
        engine: Arc::clone(&shared.engine),
        session,
        statement,
        tables,
        parameters,
        query_id,
        reads_only,
        monitors: false,
        cancel,
    }));
    let response = response.await;
    cancelling.disarm();
    response.unwrap_or_else(|panic| Err(Error::logical(format!("the query ended early: {panic}"))))
}

/// Runs a query of the server's own for `user`, whatever else runs.
pub(super) async fn monitor(state: &HttpState, user: &str, address: IpAddr, text: &str) -> Result<Response> {
    let shared = &state.shared;
    let parameters = Parameters::read("", &HeaderMap::new())?;
    let session =
        shared.sessions.lease(user, &parameters.session, || shared.open_session(user, address)).await?;
    let cancel = CancelHandle::default();
    let mut cancelling = Cancelling::new(cancel.clone());
    let response = shared.queries.spawn(execute(Query {
        engine: Arc::clone(&shared.engine),
        session,
        statement: Statement { text: text.into(), input: Input::None, room: Vec::new() },
        tables: Vec::new(),
        parameters,
        query_id: Uuid::new_v4().to_string(),
        reads_only: true,
        monitors: true,
        cancel,
    }));
    let response = response.await;
    cancelling.disarm();
    response.unwrap_or_else(|panic| Err(Error::logical(format!("the query ended early: {panic}"))))
}

/// The client that sent the request.
pub(super) fn peer_of(request: &HttpRequest) -> Result<Peer> {
    let peer = request.extensions().get::<Peer>();
    peer.cloned().ok_or_else(|| Error::logical("a request came from no connection"))
}

/// Takes the parameters and the external tables out of the form of a request, if it has one.
async fn form(
    request: HttpRequest,
    parameters: &mut Parameters,
) -> Result<(HttpRequest, Vec<ExternalTableText>)> {
    if !form::is_form(request.headers()) {
        return Ok((request, Vec::new()));
    }
    let method = request.method().clone();
    let tables = form::read(request, parameters).await?;
    let mut rest = HttpRequest::new(Body::empty());
    *rest.method_mut() = method;
    Ok((rest, tables))
}

/// A request that is ready to run.
struct Query {
    engine: Arc<Engine>,
    session: Lease,
    statement: Statement,
    tables: Vec<ExternalTableText>,
    parameters: Parameters,
    query_id: String,
    reads_only: bool,
    monitors: bool,
    cancel: CancelHandle,
}

/// Runs the request on the threads of queries, up to the head of its answer. The body is computed there, too.
async fn execute(query: Query) -> Result<Response> {
    let Query {
        engine,
        mut session,
        statement,
        tables,
        mut parameters,
        query_id,
        reads_only,
        monitors,
        cancel,
    } = query;
    let Statement { text, input, room } = statement;
    // Dropped with the body of the answer.
    let cancelling = Cancelling::new(cancel.clone());
    let external_tables = session.read_tables(tables).await?;
    let outcome = session.execute(Request {
        input,
        external_tables,
        query_id: Some(query_id),
        parameters: std::mem::take(&mut parameters.substitutions),
        settings: std::mem::take(&mut parameters.settings),
        default_format: parameters.default_format.take().unwrap_or_else(|| "TabSeparated".to_owned()),
        interface: Interface::Http,
        reads_only,
        monitors,
        cancel,
        ..Request::new(text)
    });
    let outcome = outcome.await?;
    drop(room);
    match outcome {
        Outcome::Done(summary) => Ok(answer::done(&summary, cancelling)),
        Outcome::Rows(rows) => {
            let dir = engine.temporary_dir();
            answer::rows(*rows, session, cancelling, &parameters, &dir).await
        }
    }
}
