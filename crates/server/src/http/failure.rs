//! An error as a response: status, error code in a header, text in the body.

use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use basalt_engine::Error;

use super::answer::QUERY_ID;

const EXCEPTION_CODE: HeaderName = HeaderName::from_static("x-clickhouse-exception-code");

pub(super) fn response(error: &Error, query_id: Option<&str>) -> Response {
    let status =
        StatusCode::from_u16(error.code().http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (
        status,
        [(EXCEPTION_CODE, error.code().number().to_string())],
        [(header::CONTENT_TYPE, "text/plain; charset=UTF-8")],
        format!("{error}\n"),
    )
        .into_response();
    if let Some(value) = query_id.and_then(|id| id.parse().ok()) {
        response.headers_mut().insert(QUERY_ID, value);
    }
    response
}
