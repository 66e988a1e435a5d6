//! TLS: the options of a connection, and the handshake.
//!
//! Every network source takes the same [`TlsOptions`]; `verifier` applies them to a server's certificate.

mod failure;
mod options;
mod trust;
mod verifier;

use std::io::{Read, Write};
use std::sync::Arc;

use basalt_base::{Error, ErrorCode, Result};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

pub(crate) use self::failure::{explained, handshake_timed_out, is_of_tls};
pub use self::options::{Identity, TlsMode, TlsOptions};
use self::trust::{certificates_of, private_key_of, roots};
use self::verifier::Verifier;

impl TlsOptions {
    /// The rustls configuration; reads the files that the options name.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(Error::logical)?;
        let (trusted, store) = match self.mode {
            TlsMode::VerifyCa | TlsMode::VerifyFull => roots(self)?,
            TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => {
                (Vec::new(), Arc::new(RootCertStore::empty()))
            }
        };
        let verifier = Verifier { mode: self.mode, trusted, store, provider };
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (certificates, key) =
                    (certificates_of(&identity.certificate)?, private_key_of(identity)?);
                authenticated(builder, certificates, key, identity)?
            }
        };
        Ok(Arc::new(config))
    }
}

/// Does the handshake with `host` over `stream`.
pub(crate) fn handshake(
    config: Arc<ClientConfig>,
    host: &str,
    stream: &mut (impl Read + Write),
) -> std::io::Result<ClientConnection> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned()).map_err(std::io::Error::other)?;
    let mut connection = ClientConnection::new(config, name).map_err(std::io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(stream)?;
    }
    Ok(connection)
}

fn authenticated(
    builder: rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>,
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    identity: &Identity,
) -> Result<ClientConfig> {
    builder.with_client_auth_cert(certificates, key).map_err(|error| {
        let (certificate, key) = (identity.certificate.display(), identity.key.display());
        let message = format!("certificate {certificate} and key {key} are of no use: {error}");
        Error::new(ErrorCode::InvalidConfigParameter, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_the_names_of_libpq_and_of_mysql() {
        let mode = |name: &str| name.parse::<TlsMode>().map_err(|error| error.code());
        assert_eq!(mode("disable"), Ok(TlsMode::Disable));
        assert_eq!(mode("PREFERRED"), Ok(TlsMode::Prefer));
        assert_eq!(mode("REQUIRED"), Ok(TlsMode::Require));
        assert_eq!(mode("VERIFY_CA"), Ok(TlsMode::VerifyCa));
        assert_eq!(mode("verify-full"), Ok(TlsMode::VerifyFull));
        assert_eq!(mode("VERIFY_IDENTITY"), Ok(TlsMode::VerifyFull));
        assert_eq!(mode("allow"), Err(ErrorCode::BadArguments));
        assert!(TlsMode::Require < TlsMode::VerifyCa);
    }

    #[test]
    fn files_that_hold_no_certificates_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("ca.pem");
        let code = |options: &TlsOptions| options.config().map_err(|error| error.code()).err();
        let mut options =
            TlsOptions { mode: TlsMode::VerifyFull, roots: Some(path.clone()), ..TlsOptions::default() };
        assert_eq!(code(&options), Some(ErrorCode::FileDoesntExist));
        for text in ["", "nothing", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            std::fs::write(&path, text).expect("writable");
            assert_eq!(code(&options), Some(ErrorCode::InvalidConfigParameter), "{text}");
        }
        // A mode without verification needs no authorities.
        options.mode = TlsMode::Require;
        assert_eq!(code(&options), None);
        options.identity = Some(Identity { certificate: path.clone(), key: path });
        assert_eq!(code(&options), Some(ErrorCode::InvalidConfigParameter));
    }
}
