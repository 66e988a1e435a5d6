//! The HTTP interface for ClickHouse's clients and drivers.
//!
//! - `socket`, `activity`: the socket of a connection, and what the connection waits for.
//! - `origin`: where a request comes from.
//! - `query_string`: the part of a URL after `?`, as bytes.
//! - `parameters`: the meaning of its names.
//! - `authentication`: the user of a request.
//! - `statement`: the statement and its data, from the URL and the body.
//! - `uploads`: data that arrive while their INSERT runs.
//! - `query`: a request from its head to its answer.
//! - `answer`: a result set as a streamed response.
//! - `compression`: its Content-Encoding.
//! - `failure`: an error as a response.

mod activity;
mod answer;
mod authentication;
mod compression;
mod failure;
mod origin;
mod parameters;
mod query;
mod query_string;
mod socket;
mod statement;
mod uploads;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use basalt_engine::{Engine, Result, Session};

pub(crate) use self::activity::{ActiveRequest, Activity, AnswerBody, RequestBody};
pub(crate) use self::origin::Origins;
pub(crate) use self::socket::Socket;
use self::statement::Bodies;
use crate::password::Password;
use crate::sessions::Sessions;

/// The state that all requests share.
pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    /// The runtime of queries, whose threads do not serve sockets.
    pub(crate) queries: tokio::runtime::Handle,
    pub(crate) sessions: Sessions,
    pub(crate) bodies: Bodies,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) password: Option<Password>,
    pub(crate) origins: Origins,
}

impl Shared {
    /// A session with the server's settings.
    fn open_session(&self, user: &str) -> Result<Session> {
        let mut session = self.engine.session();
        session.set_user(user);
        for (name, value) in &self.settings {
            session.set(name, value)?;
        }
        Ok(session)
    }
}

/// All paths of the server.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", any(root))
        .route("/query", any(root))
        .route("/ping", any(alive))
        .route("/replicas_status", any(alive))
        .fallback(unknown_path)
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), origin::guard))
        .with_state(shared)
}

async fn root(State(shared): State<Arc<Shared>>, request: axum::extract::Request) -> Response {
    let asks = request.uri().query().is_some_and(|query| !query.is_empty());
    match *request.method() {
        Method::POST => query::answer(&shared, request).await,
        Method::GET | Method::HEAD if asks => query::answer(&shared, request).await,
        Method::GET | Method::HEAD => alive().await.into_response(),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "Use GET for queries that only read, POST for all others.\n")
            .into_response(),
    }
}

async fn alive() -> &'static str {
    "Ok.\n"
}

async fn unknown_path(uri: Uri) -> Response {
    let text = format!(
        "There is nothing at {}.\n\nSend a query to /?query=... or in the body of a POST to /.\n\
         Ask /ping or /replicas_status whether the server lives.\n",
        uri.path()
    );
    (StatusCode::NOT_FOUND, text).into_response()
}
