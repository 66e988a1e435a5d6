//! The handshake: a socket becomes a stream that is encrypted.

use std::io;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::client_certificate::ClientCertificate;
use super::configuration::Application;
use super::current::Tls;
use crate::connections::Socket;

/// The first byte of a client that begins a handshake: the kind of a record.
const HANDSHAKE: u8 = 22;

/// Whether a client whose first byte this is speaks TLS.
pub(crate) fn is_hello(first: u8) -> bool {
    first == HANDSHAKE
}

impl Tls {
    /// Does the handshake. The caller limits its time.
    pub(crate) async fn accept(
        self: &Arc<Self>,
        socket: Socket,
        application: Application,
    ) -> io::Result<(Box<TlsStream<Socket>>, Option<Arc<ClientCertificate>>)> {
        let config = self.configurations().await.of(application);
        let stream = TlsAcceptor::from(config).accept(socket).await?;
        let chain = stream.get_ref().1.peer_certificates();
        let certificate = chain.and_then(<[_]>::first).map(|first| Arc::new(ClientCertificate::read(first)));
        Ok((Box::new(stream), certificate))
    }
}
