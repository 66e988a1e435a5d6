//! Proofs of a password, by the methods of MySQL.

use sha1::{Digest, Sha1};
use sha2::Sha256;

/// The proof for the salt that the server sent; `None` for a method that is not known here.
pub(super) fn answer(plugin: &str, password: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    match plugin {
        _ if password.is_empty() => Some(Vec::new()),
        "mysql_native_password" => {
            let once = Sha1::digest(password);
            let twice = Sha1::digest(once);
            let salted = Sha1::new().chain_update(salt).chain_update(twice).finalize();
            Some(once.iter().zip(salted.iter()).map(|(a, b)| a ^ b).collect())
        }
        "caching_sha2_password" => {
            let once = Sha256::digest(password);
            let twice = Sha256::digest(once);
            let salted = Sha256::new().chain_update(twice).chain_update(salt).finalize();
            Some(once.iter().zip(salted.iter()).map(|(a, b)| a ^ b).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_password_has_an_empty_proof() {
        assert_eq!(answer("mysql_native_password", b"", b"salt"), Some(Vec::new()));
        assert_eq!(answer("mysql_native_password", b"x", b"salt").map(|proof| proof.len()), Some(20));
        assert_eq!(answer("caching_sha2_password", b"x", b"salt").map(|proof| proof.len()), Some(32));
        assert_eq!(answer("auth_gssapi_client", b"x", b"salt"), None);
    }
}
