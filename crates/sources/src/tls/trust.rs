//! Reads certificates and keys from files, and the authorities that the machine trusts.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use basalt_base::{Error, ErrorCode, FileAction, Result, bail};
use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::options::{Identity, TlsOptions};

/// The largest file of certificates or keys.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The trusted certificates: those from files, and all as a root store.
pub(super) fn roots(options: &TlsOptions) -> Result<(Vec<CertificateDer<'static>>, Arc<RootCertStore>)> {
    let named = match (&options.roots, &options.more_roots) {
        (Some(path), _) | (None, Some(path)) => certificates_of(path)?,
        (None, None) => return Ok((Vec::new(), machine_roots())),
    };
    let mut store = match &options.roots {
        Some(_) => RootCertStore::empty(),
        None => RootCertStore::clone(&machine_roots()),
    };
    // A certificate that is not an authority is compared as a whole.
    store.add_parsable_certificates(named.iter().cloned());
    Ok((named, Arc::new(store)))
}

/// The machine's authorities: its bundle, or SSL_CERT_FILE and SSL_CERT_DIR. Read once.
fn machine_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let read = || {
        let mut store = RootCertStore::empty();
        // Unreadable certificates are not trusted; an empty store is reported in its error.
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(store)
    };
    Arc::clone(ROOTS.get_or_init(read))
}

/// The certificates in a file; fails if there is none.
pub(super) fn certificates_of(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = read(path)?;
    let certificates: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(wrong(path, "certificate (PEM)", &"there is none in it")),
        Err(error) => Err(wrong(path, "certificate (PEM)", &error)),
    }
}

pub(super) fn private_key_of(identity: &Identity) -> Result<PrivateKeyDer<'static>> {
    let text = read(&identity.key)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| wrong(&identity.key, "private key (PEM)", &error))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let found = path.metadata().map_err(|error| Error::io(FileAction::Inspect, path, &error))?;
    if found.len() > FILE_BYTES_MAX {
        bail!(
            InvalidConfigParameter,
            "{}: no file of certificates has {} bytes",
            path.display(),
            found.len()
        );
    }
    std::fs::read(path).map_err(|error| Error::io(FileAction::Read, path, &error))
}

fn wrong(path: &Path, what: &str, why: &dyn std::fmt::Display) -> Error {
    let message = format!("{} does not hold a {what}: {why}", path.display());
    Error::new(ErrorCode::InvalidConfigParameter, message)
}
