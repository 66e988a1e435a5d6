//! SECURE and the TLS parameters of sources that use the network.
//!
//! Each parameter has the name of MySQL's clients (SSL_MODE, SSL_CA, SSL_CERT, SSL_KEY) and that of PostgreSQL's
//! (sslmode, sslrootcert, sslcert, sslkey).

use basalt_base::{Result, bail};
use basalt_sources::{Identity, TlsMode, TlsOptions};

use super::LoadRequest;
use super::parameters::Parameters;

/// The parameters that [`Tls::parse`] takes.
pub(super) const TLS_PARAMETERS: [&str; 9] =
    ["secure", "ssl_mode", "sslmode", "ssl_ca", "sslrootcert", "ssl_cert", "sslcert", "ssl_key", "sslkey"];

/// The TLS parameters of a source, before files are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tls {
    mode: TlsMode,
    roots: Option<String>,
    /// A client certificate and its key.
    identity: Option<(String, String)>,
}

/// The modes of a source without parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct TlsDefaults {
    /// Without any parameter.
    pub(super) mode: TlsMode,
    /// With files, but no mode.
    pub(super) with_files: TlsMode,
    /// Whether TLS may be negotiated: only if the port does not decide it.
    pub(super) can_prefer: bool,
}

impl TlsDefaults {
    /// For a source whose port decides whether it speaks TLS.
    pub(super) const BY_PORT: TlsDefaults =
        TlsDefaults { mode: TlsMode::Disable, with_files: TlsMode::VerifyFull, can_prefer: false };

    /// For an https address.
    pub(super) const HTTPS: TlsDefaults = TlsDefaults { mode: TlsMode::VerifyFull, ..TlsDefaults::BY_PORT };
}

impl Tls {
    pub(super) fn parse(parameters: &Parameters<'_>, defaults: TlsDefaults) -> Result<Tls> {
        let either = |name: &str, other: &str| match parameters.text(name)? {
            Some(value) => Ok(Some(value)),
            None => parameters.text(other),
        };
        let some = |path: Option<String>| path.filter(|path| !path.is_empty());
        let given = either("ssl_mode", "sslmode")?;
        let given = given.map(|mode| mode.parse::<TlsMode>().map_err(|error| parameters.within(error)));
        let roots = some(either("ssl_ca", "sslrootcert")?);
        let certificate = some(either("ssl_cert", "sslcert")?);
        let key = some(either("ssl_key", "sslkey")?);
        let secure = match parameters.text("secure")? {
            None => None,
            Some(_) => Some(parameters.flag("secure", false)?),
        };
        let has_files = roots.is_some() || certificate.is_some();
        let mode = match (given.transpose()?, secure) {
            // As in libpq: a root certificate implies verification.
            (Some(TlsMode::Require), _) if roots.is_some() => TlsMode::VerifyCa,
            (Some(mode), None) => mode,
            (Some(mode), Some(secure)) if secure == (mode >= TlsMode::Require) => mode,
            (None, Some(true)) => TlsMode::VerifyFull,
            (None, Some(false)) if !has_files => TlsMode::Disable,
            (None, None) if has_files => defaults.with_files,
            (None, None) => defaults.mode,
            _ => return Err(parameters.wrong("secure", "at odds with the other TLS parameters")),
        };
        if mode == TlsMode::Prefer && !defaults.can_prefer {
            return Err(parameters.wrong("ssl_mode", "not prefer: its port speaks TLS or does not"));
        }
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(parameters.wrong("ssl_cert", "of use with ssl_key only, and ssl_key with it")),
        };
        Ok(Tls { mode, roots, identity })
    }

    /// Whether TLS is required.
    pub(super) fn is_on(&self) -> bool {
        self.mode >= TlsMode::Require
    }

    /// The options with resolved files, and the authorities of the server's configuration.
    pub(super) fn options(&self, load: &LoadRequest) -> Result<TlsOptions> {
        let file = |path: &String| load.host.user_file(path);
        let identity = match &self.identity {
            Some((certificate, key)) => Some(Identity { certificate: file(certificate)?, key: file(key)? }),
            None => None,
        };
        let more_roots = load.host.policy().tls_ca_file.map(std::path::Path::to_owned);
        let roots = self.roots.as_ref().map(file).transpose()?;
        Ok(TlsOptions { mode: self.mode, roots, more_roots, identity })
    }
}

/// An error if there is a TLS parameter where there is no TLS.
pub(super) fn refuse(parameters: &Parameters<'_>, why: &str) -> Result<()> {
    for name in TLS_PARAMETERS {
        if parameters.text(name)?.is_some() {
            bail!(
                IncorrectDictionaryDefinition,
                "parameter `{name}` of dictionary source {}: {why}",
                parameters.source()
            );
        }
    }
    Ok(())
}
