//! The options of TLS, as the configuration states them.

use std::path::PathBuf;
use std::str::FromStr;

/// The files that say who the server is, and what its clients must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// The server's certificate and those that link it to an authority, in this order (PEM).
    pub certificate_file: PathBuf,
    /// The private key of the first certificate (PEM: PKCS8, PKCS1 or SEC1).
    pub private_key_file: PathBuf,
    /// The authorities that sign certificates of clients (PEM).
    pub ca_file: Option<PathBuf>,
    pub verification: ClientVerification,
    /// Whether clients of the protocol of PostgreSQL must use TLS. They may in any case.
    pub require_for_postgres: bool,
}

/// Whether a client must show a certificate. The modes have ClickHouse's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientVerification {
    /// It is not asked for one.
    #[default]
    None,
    /// It may show one, which must then be valid.
    Relaxed,
    /// It must show a valid one.
    Strict,
}

impl FromStr for ClientVerification {
    type Err = String;

    fn from_str(text: &str) -> Result<ClientVerification, String> {
        match text.to_ascii_lowercase().as_str() {
            "none" => Ok(ClientVerification::None),
            "relaxed" => Ok(ClientVerification::Relaxed),
            "strict" => Ok(ClientVerification::Strict),
            _ => Err(format!("`{text}` is no verification of clients: it is none, relaxed or strict")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verification_has_the_names_of_clickhouse() {
        assert_eq!("none".parse(), Ok(ClientVerification::None));
        assert_eq!("Relaxed".parse(), Ok(ClientVerification::Relaxed));
        assert_eq!("strict".parse(), Ok(ClientVerification::Strict));
        assert!("once".parse::<ClientVerification>().is_err());
    }
}
