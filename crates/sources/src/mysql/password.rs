//! Proofs of a password, by MySQL's authentication methods.

use sha1::{Digest, Sha1};
use sha2::Sha256;

/// The proof for the server's salt; `None` if the method is unknown.
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

    fn check(plugin: &str, password: &[u8], salt: &str, proof: &str) {
        let salt = hex::decode(salt).expect("hexadecimal");
        assert_eq!(answer(plugin, password, &salt).map(hex::encode).as_deref(), Some(proof));
    }

    /// The vectors that go-sql-driver/mysql tests against MySQL.
    #[test]
    fn proofs_are_those_of_mysql() {
        let (native, caching) = ("mysql_native_password", "caching_sha2_password");
        check(
            native,
            b"secret",
            "46725c5e01260b743f7217657e671a5f51111815",
            "35b18c9ffbbd7f356dfcac32d3c0f0a41a30cf2d",
        );
        let salt = "0a2f4a6f4b492230584c724a250d035052021715";
        check(caching, b"secret", salt, "f490e76f66d9d86665ce54d98c78d0acfe2fb0b08b423da807144873d30b312c");
        check(caching, b"secret2", salt, "abc3934a012cf342e876071c8ee202de51785b430258a7a0138bc79c4d800bc6");
    }

    #[test]
    fn an_empty_password_has_an_empty_proof() {
        assert_eq!(answer("mysql_native_password", b"", b"salt"), Some(Vec::new()));
        assert_eq!(answer("auth_gssapi_client", b"x", b"salt"), None);
    }
}
