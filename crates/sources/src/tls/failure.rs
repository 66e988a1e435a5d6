//! Explains failures of TLS, and what to do about them.

use std::io::ErrorKind;

use basalt_base::{Error, ErrorCode};
use rustls::CertificateError;

use crate::limits::timed_out;

/// Whether `error` comes from TLS, not from the network below.
pub(crate) fn is_of_tls(error: &std::io::Error) -> bool {
    reason(error).is_some()
}

/// The user's error for a failed handshake with `peer`.
pub(crate) fn explained(peer: &str, error: &std::io::Error) -> Error {
    let what = match reason(error) {
        Some(rustls::Error::InvalidCertificate(why)) => refused_certificate(why),
        Some(rustls::Error::InvalidMessage(_)) => {
            "what answers speaks no TLS: name the port that does, or ask without it".to_owned()
        }
        Some(rustls::Error::AlertReceived(alert)) => format!(
            "the server ends the handshake ({alert:?}): it may want a certificate of ours (ssl_cert, ssl_key) or \
             another version of TLS"
        ),
        Some(why) => why.to_string(),
        None if is_end(error) => {
            "the server closed the connection in the middle of the handshake: it may speak no TLS".to_owned()
        }
        None => error.to_string(),
    };
    Error::new(ErrorCode::NetworkError, format!("{peer}: TLS: {what}"))
}

/// The handshake with `whom` timed out.
pub(crate) fn handshake_timed_out(whom: &str) -> Error {
    timed_out(&format!("{whom}: TLS: the server (it may speak no TLS)"))
}

fn is_end(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// The TLS error inside an error of the stream.
fn reason(error: &std::io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|inner| inner.downcast_ref())
}

fn refused_certificate(why: &CertificateError) -> String {
    let names = |presented: &[String]| match presented {
        [] => "no host at all (it has no subjectAltName)".to_owned(),
        names => names.join(", "),
    };
    match why {
        CertificateError::UnknownIssuer => "no authority that is trusted here has signed the server's certificate: \
             name the authority's certificate as tls_ca_file of the server's configuration, or as ssl_ca of the source"
            .to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the server's certificate has expired, renew it there{}", times(why))
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the server's certificate is not valid yet, look at both clocks{}", times(why))
        }
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is not for `{}` but for {}: name the host so, or, if you know the server, set \
             ssl_mode to verify-ca",
            expected.to_str(),
            names(presented)
        ),
        CertificateError::Other(why) => format!(
            "the server's certificate is refused ({why}): if the server signs for itself, name this very certificate as \
             tls_ca_file of the server's configuration, or as ssl_ca of the source"
        ),
        other => format!("the server's certificate is refused: {other}"),
    }
}

fn times(why: &CertificateError) -> String {
    match why {
        CertificateError::ExpiredContext { time, not_after } => {
            format!(" ({} seconds ago)", time.as_secs().saturating_sub(not_after.as_secs()))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!(" (for {} seconds)", not_before.as_secs().saturating_sub(time.as_secs()))
        }
        _ => String::new(),
    }
}
