//! The state that all requests share.

use std::sync::Arc;

use super::connection::Http;
use super::origin::Origins;
use super::routes;
use super::statement::Bodies;
use super::uploads::Uploads;
use crate::shared::Shared;

/// What requests share, beside what they share with other interfaces.
pub(crate) struct HttpState {
    pub(super) shared: Arc<Shared>,
    pub(super) bodies: Bodies,
    /// The bodies that are being decompressed. They have places of their own: an INSERT that holds one of `bodies` may
    /// wait for its body to be decompressed.
    pub(super) encoded: Uploads,
    pub(super) origins: Origins,
}

impl HttpState {
    /// The HTTP interface over `shared`, for callers from `origins`.
    pub(crate) fn protocol(shared: Arc<Shared>, origins: Origins) -> Http {
        let (bodies, encoded) = (Bodies::default(), Uploads::default());
        Http::new(routes::router(Arc::new(HttpState { shared, bodies, encoded, origins })))
    }
}
