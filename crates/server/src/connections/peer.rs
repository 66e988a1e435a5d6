//! The client at the other end of a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::tls::ClientCertificate;

/// The address of a client, and its certificate.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) is_encrypted: bool,
    /// The certificate that the client has shown, if any; it is valid.
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
}
