//! The configuration of rustls, one for each protocol.

use std::sync::Arc;

use basalt_engine::{Error, ErrorCode, Result};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::files::{TlsFiles, wrong};
use super::options::{ClientVerification, TlsOptions};

/// The protocol that is spoken over TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Application {
    Http,
    Native,
    Postgres,
}

impl Application {
    /// Its name in the handshake (ALPN). The native protocol has none.
    pub(crate) fn name(self) -> Option<&'static [u8]> {
        match self {
            Application::Http => Some(b"http/1.1"),
            Application::Native => None,
            Application::Postgres => Some(b"postgresql"),
        }
    }
}

/// The configurations of all protocols.
pub(super) struct Configurations {
    http: Arc<ServerConfig>,
    native: Arc<ServerConfig>,
    postgres: Arc<ServerConfig>,
}

impl Configurations {
    /// Reads the files of `options`.
    pub(super) fn load(options: &TlsOptions) -> Result<Configurations> {
        let config = server_config(options)?;
        let of = |application: Application| {
            let mut config = config.clone();
            config.alpn_protocols.extend(application.name().map(<[u8]>::to_vec));
            Arc::new(config)
        };
        Ok(Configurations {
            http: of(Application::Http),
            native: of(Application::Native),
            postgres: of(Application::Postgres),
        })
    }

    pub(super) fn of(&self, application: Application) -> Arc<ServerConfig> {
        Arc::clone(match application {
            Application::Http => &self.http,
            Application::Native => &self.native,
            Application::Postgres => &self.postgres,
        })
    }
}

fn server_config(options: &TlsOptions) -> Result<ServerConfig> {
    let TlsFiles { chain, key, authorities } = TlsFiles::read(options)?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(Error::logical)?;
    let builder = match options.verification {
        ClientVerification::None => builder.with_no_client_auth(),
        verification => {
            let authorities = authorities.ok_or_else(without_authorities)?;
            builder.with_client_cert_verifier(verifier(options, verification, authorities)?)
        }
    };
    builder.with_single_cert(chain, key).map_err(|error| {
        let why = match error {
            rustls::Error::InconsistentKeys(_) => {
                "it is not the key of the certificate: give both files of the same certificate".to_owned()
            }
            rustls::Error::InvalidCertificate(why) => {
                return wrong(&options.certificate_file, &format!("the certificate is damaged: {why:?}"));
            }
            other => other.to_string(),
        };
        let certificate = options.certificate_file.display();
        wrong(&options.private_key_file, &format!("{why} (certificate {certificate})"))
    })
}

fn verifier(
    options: &TlsOptions,
    verification: ClientVerification,
    authorities: rustls::RootCertStore,
) -> Result<Arc<dyn ClientCertVerifier>> {
    let provider = Arc::new(default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
    let builder = match verification {
        ClientVerification::Strict => builder,
        ClientVerification::Relaxed | ClientVerification::None => builder.allow_unauthenticated(),
    };
    let path = options.ca_file.as_deref().unwrap_or(&options.certificate_file);
    builder.build().map_err(|error| wrong(path, &error.to_string()))
}

fn without_authorities() -> Error {
    let what = "[tls] verification is relaxed or strict, but ca_file, which has the authorities of clients, is not set";
    Error::new(ErrorCode::InvalidConfigParameter, what)
}
