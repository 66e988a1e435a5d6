//! TLS: certificates of the server and of clients, and the handshake.
//!
//! - `options`: the files of certificates, and whether clients must have one.
//! - `files`: the certificates and the key in these files, checked.
//! - `configuration`: the configuration of rustls, one for each protocol.
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
