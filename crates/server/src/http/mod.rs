//! The HTTP interface for ClickHouse's clients and drivers.
//!
//! - `connection`, `body`: the requests of a connection, and their bodies.
//! - `routes`: the paths of the server.
//! - `state`: what requests share.
//! - `origin`: where a request comes from.
//! - `query_string`: the part of a URL after `?`, as bytes.
//! - `parameters`: the meaning of its names.
//! - `authentication`: the credentials of a request.
//! - `statement`: the statement and its data, from the URL and the body.
//! - `uploads`: data that arrive while their INSERT runs.
//! - `query`: a request from its head to its answer.
//! - `answer`: a result set as a streamed response.
//! - `compression`: its Content-Encoding.
//! - `encoded_body`: the Content-Encoding of a request.
//! - `frames`: bodies in ClickHouse's compressed frames.
//! - `form`: requests with a form, and the external tables in it.
//! - `metrics`: the figures of the server, for Prometheus.
//! - `failure`: an error as a response.

mod answer;
mod authentication;
mod body;
mod compression;
mod connection;
mod encoded_body;
mod failure;
mod form;
mod frames;
mod metrics;
mod origin;
mod parameters;
mod query;
mod query_string;
mod routes;
mod state;
mod statement;
mod uploads;

pub(crate) use self::connection::Http;
pub(crate) use self::origin::Origins;
pub(crate) use self::state::HttpState;
