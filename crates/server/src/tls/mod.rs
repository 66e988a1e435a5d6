//! TLS: who the server is, who its clients are, and the handshake.
//!
//! - `options`: the files of a server, and what clients must show.
//! - `files`: the certificates and the key in these files, checked.
//! - `configuration`: what rustls makes of them, for each protocol.
//! - `current`: the configuration of new connections; it follows the files.
//! - `handshake`: a socket becomes a stream that is encrypted.
//! - `client_certificate`: the names in the certificate of a client; `der` reads them.

mod client_certificate;
mod configuration;
mod current;
mod der;
mod files;
mod handshake;
mod options;

pub(crate) use self::client_certificate::ClientCertificate;
pub(crate) use self::configuration::Application;
pub(crate) use self::current::Tls;
pub(crate) use self::handshake::is_hello;
pub use self::options::{ClientVerification, TlsOptions};
