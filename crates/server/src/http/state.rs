//! The state that all requests share.

use std::sync::Arc;

use super::connection::Http;
use super::origin::Origins;
use super::routes;
use super::statement::Bodies;
use crate::shared::Shared;

/// What requests share, beside what they share with other interfaces.
pub(crate) struct HttpState {
    pub(super) shared: Arc<Shared>,
    pub(super) bodies: Bodies,
    pub(super) origins: Origins,
}

impl HttpState {
    /// The HTTP interface over `shared`, for callers from `origins`.
    pub(crate) fn protocol(shared: Arc<Shared>, origins: Origins) -> Http {
        Http::new(routes::router(Arc::new(HttpState { shared, bodies: Bodies::default(), origins })))
    }
}
