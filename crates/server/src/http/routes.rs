//! The paths of the server.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use basalt_engine::{Error, ErrorCode};

use super::state::HttpState;
use super::{failure, metrics, origin, query};

/// All paths.
pub(super) fn router(state: Arc<HttpState>) -> Router {
    Router::new()
        .route("/", any(root))
        .route("/query", any(root))
        .route("/ping", any(alive))
        .route("/health", get(health))
        .route("/metrics", get(metrics::answer))
        .route("/replicas_status", any(alive))
        .fallback(unknown_path)
        .layer(middleware::from_fn_with_state(Arc::clone(&state), origin::guard))
        .with_state(state)
}

async fn root(State(state): State<Arc<HttpState>>, request: axum::extract::Request) -> Response {
    let asks = request.uri().query().is_some_and(|query| !query.is_empty());
    match *request.method() {
        Method::POST => query::answer(&state, request).await,
        Method::GET | Method::HEAD if asks => query::answer(&state, request).await,
        Method::GET | Method::HEAD => alive().await.into_response(),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "Use GET for queries that only read, POST for all others.\n")
            .into_response(),
    }
}

/// Whether the server takes statements that write.
async fn health(State(state): State<Arc<HttpState>>) -> Response {
    let engine = Arc::clone(&state.shared.engine);
    let checked = state.shared.queries.spawn_blocking(move || engine.health()).await;
    match checked.unwrap_or_else(|_| Err(Error::new(ErrorCode::QueryWasCancelled, "the server is stopping")))
    {
        Ok(()) => alive().await.into_response(),
        Err(error) => {
            let mut response = failure::response(&error, None);
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response
        }
    }
}

async fn alive() -> &'static str {
    "Ok.\n"
}

async fn unknown_path(uri: Uri) -> Response {
    let text = format!(
        "There is nothing at {}.\n\nSend a query to /?query=... or in the body of a POST to /.\n\
         Ask /ping or /replicas_status whether the server lives, /health whether it can write, /metrics for figures.\n",
        uri.path()
    );
    (StatusCode::NOT_FOUND, text).into_response()
}
