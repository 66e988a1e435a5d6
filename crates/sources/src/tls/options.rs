//! The options of TLS: how a connection is protected, and whom it trusts.

use std::path::PathBuf;
use std::str::FromStr;

use basalt_base::{Error, Result, bail};

/// How a connection is protected; each mode is stricter than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsMode {
    #[default]
    Disable,
    /// Encrypted if the server supports it; any certificate is accepted.
    Prefer,
    /// Encrypted; any certificate is accepted.
    Require,
    /// Encrypted; the certificate must be signed by a trusted authority, for any host.
    VerifyCa,
    /// Encrypted; the certificate must be signed by a trusted authority, for this host.
    VerifyFull,
}

/// TLS of one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    pub mode: TlsMode,
    /// The only trusted authorities (PEM); `None`: those of the machine and `more_roots`.
    pub roots: Option<PathBuf>,
    /// Authorities (PEM) that are trusted besides those of the machine.
    pub more_roots: Option<PathBuf>,
    /// The client certificate, if the server asks for one.
    pub identity: Option<Identity>,
}

/// A client certificate and its private key, both PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl FromStr for TlsMode {
    type Err = Error;

    /// Parses the names of libpq (`verify-full`) and of MySQL (`VERIFY_IDENTITY`), in any case.
    fn from_str(name: &str) -> Result<TlsMode> {
        Ok(match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "disable" | "disabled" => TlsMode::Disable,
            "prefer" | "preferred" => TlsMode::Prefer,
            "require" | "required" => TlsMode::Require,
            "verify-ca" => TlsMode::VerifyCa,
            "verify-full" | "verify-identity" => TlsMode::VerifyFull,
            _ => bail!(
                BadArguments,
                "`{name}` is no mode of TLS: it is disable, prefer, require, verify-ca or verify-full"
            ),
        })
    }
}
