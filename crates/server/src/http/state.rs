//! The state that all requests share.

use std::sync::Arc;

use super::origin::Origins;
use super::statement::Bodies;
use super::uploads::Uploads;
use crate::shared::Shared;

/// State that all HTTP requests share; [`Shared`] is that of all interfaces.
pub(crate) struct HttpState {
    pub(super) shared: Arc<Shared>,
    pub(super) bodies: Bodies,
    /// The bodies that are being decompressed. They have places of their own: an INSERT that holds one of `bodies` may
    /// wait for its body to be decompressed.
    pub(super) encoded: Uploads,
    pub(super) origins: Origins,
    /// Whether everybody may read `/metrics`.
    pub(super) metrics_without_password: bool,
}

impl HttpState {
    /// The state of the HTTP interface over `shared`, for callers from `origins`.
    pub(crate) fn new(shared: Arc<Shared>, origins: Origins, metrics_without_password: bool) -> HttpState {
        let (bodies, encoded) = (Bodies::default(), Uploads::default());
        HttpState { shared, bodies, encoded, origins, metrics_without_password }
    }
}
