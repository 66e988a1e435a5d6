//! Reads the certificates and the key of a server from their files.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use basalt_engine::{Error, ErrorCode, Result};
use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::options::TlsOptions;

/// The largest file of certificates or keys.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The contents of the files.
pub(super) struct TlsFiles {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    /// The authorities of clients; `None` if no file is named.
    pub(super) authorities: Option<RootCertStore>,
}

/// Tells whether files have changed: the size and the time of change of each, `None` for one that is not there.
pub(super) type Stamps = Vec<Option<(u64, SystemTime)>>;

impl TlsFiles {
    pub(super) fn read(options: &TlsOptions) -> Result<TlsFiles> {
        let authorities = match &options.ca_file {
            Some(path) => Some(authorities(path)?),
            None => None,
        };
        Ok(TlsFiles {
            chain: certificates(&options.certificate_file)?,
            key: private_key(&options.private_key_file)?,
            authorities,
        })
    }
}

pub(super) fn stamps(options: &TlsOptions) -> Stamps {
    let stamp = |path: &PathBuf| {
        let found = path.metadata().ok()?;
        Some((found.len(), found.modified().ok()?))
    };
    let named = [&options.certificate_file, &options.private_key_file].into_iter().chain(&options.ca_file);
    named.map(stamp).collect()
}

/// The certificates in a file; fails if there is none.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = read(path)?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| damaged(path, &text, "a certificate", &error))?;
    if found.is_empty() {
        return Err(missing(path, &text, "certificate", "-----BEGIN CERTIFICATE-----"));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let text = read(path)?;
    if String::from_utf8_lossy(&text).contains("ENCRYPTED") {
        return Err(wrong(
            path,
            "the private key is encrypted: decrypt it with `openssl pkey -in FILE -out FILE.plain`",
        ));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => missing(path, &text, "private key", "-----BEGIN PRIVATE KEY-----"),
        error => damaged(path, &text, "a private key", &error),
    })
}

fn authorities(path: &Path) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    for (index, certificate) in certificates(path)?.into_iter().enumerate() {
        let number = index + 1;
        store.add(certificate).map_err(|error| {
            wrong(path, &format!("certificate {number} cannot be one of an authority: {error}"))
        })?;
    }
    Ok(store)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let unreadable = |error: std::io::Error| {
        let what = format!("{error}; name a file that this process may read");
        match error.kind() {
            std::io::ErrorKind::NotFound => Error::new(ErrorCode::FileDoesntExist, in_file(path, &what)),
            _ => wrong(path, &what),
        }
    };
    let found = path.metadata().map_err(unreadable)?;
    if found.len() > FILE_BYTES_MAX {
        return Err(wrong(path, &format!("no file of certificates has {} bytes", found.len())));
    }
    std::fs::read(path).map_err(unreadable)
}

/// The file has other things than what was looked for, or nothing.
fn missing(path: &Path, text: &[u8], what: &str, beginning: &str) -> Error {
    let text = String::from_utf8_lossy(text);
    let sections = text.lines().filter_map(|line| line.strip_prefix("-----BEGIN ")?.strip_suffix("-----"));
    let sections: Vec<&str> = sections.collect();
    let instead = match sections.is_empty() {
        true => "it is no PEM file".to_owned(),
        false => format!("it has {}", sections.join(", ")),
    };
    wrong(path, &format!("there is no {what} in it ({instead}): it must have a line `{beginning}`"))
}

/// A section of the file cannot be read.
fn damaged(path: &Path, text: &[u8], what: &str, error: &pem::Error) -> Error {
    let text = String::from_utf8_lossy(text);
    let begins = |line: &str| line.starts_with("-----BEGIN ");
    let line = text.lines().position(begins).map_or(1, |index| index + 1);
    let why = match error {
        pem::Error::MissingSectionEnd { .. } => "its END line is missing".to_owned(),
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is malformed".to_owned(),
        other => other.to_string(),
    };
    wrong(path, &format!("{what} from line {line} on cannot be read: {why}; copy the file again"))
}

pub(super) fn wrong(path: &Path, what: &str) -> Error {
    Error::new(ErrorCode::InvalidConfigParameter, in_file(path, what))
}

fn in_file(path: &Path, what: &str) -> String {
    format!("TLS: {}: {what}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::options::ClientVerification;

    #[track_caller]
    fn check(certificate: &str, key: &str, expected: &str) {
        let dir = tempfile::tempdir().expect("a directory");
        let (certificate_file, private_key_file) = (dir.path().join("c.pem"), dir.path().join("k.pem"));
        std::fs::write(&certificate_file, certificate).expect("writable");
        std::fs::write(&private_key_file, key).expect("writable");
        let verification = ClientVerification::None;
        let options = TlsOptions {
            certificate_file,
            private_key_file,
            ca_file: None,
            verification,
            require_for_postgres: false,
        };
        let error = TlsFiles::read(&options).err().expect("wrong files");
        assert!(error.message().contains(expected), "{error}");
    }

    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    #[test]
    fn errors_name_the_file_and_say_what_is_wrong_with_it() {
        check("", "", "c.pem: there is no certificate in it (it is no PEM file)");
        check(
            "-----BEGIN CERTIFICATE-----\nAAAA\n",
            "",
            "from line 1 on cannot be read: its END line is missing",
        );
        check(&CERTIFICATE.replace("AAAA", "!"), "", "c.pem: a certificate from line 1 on");
        check(CERTIFICATE, CERTIFICATE, "k.pem: there is no private key in it (it has CERTIFICATE)");
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        check(CERTIFICATE, encrypted, "k.pem: the private key is encrypted");
    }
}
