//! The password of the user `default` in the configuration, as its SHA-256.

use std::fmt;

use basalt_engine::{Error, ErrorCode, Result};
use sha2::{Digest, Sha256};

const DIGEST_BYTES: usize = 32;

/// A stored password.
#[derive(Clone, PartialEq, Eq)]
pub struct Password {
    digest: [u8; DIGEST_BYTES],
}

impl Password {
    /// From the password itself.
    pub fn of_text(text: &str) -> Password {
        Password { digest: Sha256::digest(text).into() }
    }

    /// From its SHA-256, as 64 hexadecimal digits: `password_sha256_hex`.
    pub fn of_sha256_hex(text: &str) -> Result<Password> {
        let mut digest = [0; DIGEST_BYTES];
        match hex::decode_to_slice(text, &mut digest) {
            Ok(()) => Ok(Password { digest }),
            Err(_) => Err(Error::new(
                ErrorCode::InvalidConfigParameter,
                "password_sha256_hex is not 64 hexadecimal digits: `printf %s PASSWORD | sha256sum` prints them",
            )),
        }
    }

    /// The SHA-256, as hexadecimal digits.
    pub fn sha256_hex(&self) -> String {
        hex::encode(self.digest)
    }
}

/// Prints nothing of the password.
impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_digest_are_the_same_password() {
        let hex = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        let password = Password::of_sha256_hex(hex).expect("64 digits");
        assert_eq!(password, Password::of_text("hello"));
        assert_eq!(password.sha256_hex(), hex);
        assert_ne!(password, Password::of_text("hello "));
        assert!(!format!("{password:?}").contains("2c"));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        for text in ["", "2cf2", &"g".repeat(64), &"a".repeat(63), &"a".repeat(66)] {
            assert!(Password::of_sha256_hex(text).is_err(), "{text}");
        }
    }
}
