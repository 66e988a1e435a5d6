//! The server's side of SCRAM-SHA-256 (RFC 5802 section 3, RFC 7677): a client proves that it knows a password, and
//! the server that it has the salted one, with neither sent. Channel binding is not offered.

use basalt_base::{Error, ErrorCode, Result};
use basalt_sql::ast::{Authentication, PasswordKind, PasswordText};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::authentication::SCRAM_ROUNDS;
use crate::entities::{DEFAULT_USER, Entities};

/// The name of the mechanism.
pub const SCRAM_SHA_256: &str = "SCRAM-SHA-256";

const NONCE_BYTES: usize = 18;

/// What is stored of a password for SCRAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScramSecret {
    salted_password: [u8; 32],
    salt: Vec<u8>,
}

/// An exchange after the first message of the client.
pub struct ScramExchange {
    secret: ScramSecret,
    client_first_bare: String,
    server_first: String,
    /// The header of the client's first message in base64, which its last message repeats.
    channel_binding: String,
    nonce: String,
}

impl Entities {
    /// The secret of a user with a password for SCRAM.
    pub fn scram_secret(&self, name: &str) -> Option<ScramSecret> {
        let name = if name.is_empty() { DEFAULT_USER } else { name };
        self.users.get(name)?.authentication().iter().find_map(secret_of)
    }
}

fn secret_of(method: &Authentication) -> Option<ScramSecret> {
    let Authentication::Password(PasswordKind::ScramSha256, PasswordText::Hash { hash, salt }) = method
    else {
        return None;
    };
    let salted_password = hex::decode(hash).ok()?.try_into().ok()?;
    Some(ScramSecret { salted_password, salt: salt.as_bytes().to_vec() })
}

impl ScramExchange {
    /// Reads the first message of a client. [`ScramExchange::challenge`] is the answer.
    pub fn begin(secret: ScramSecret, client_first: &[u8]) -> Result<ScramExchange> {
        let mut bytes = [0; NONCE_BYTES];
        OsRng
            .try_fill_bytes(&mut bytes)
            .map_err(|error| Error::logical(format!("the system gives no random bytes: {error}")))?;
        ScramExchange::with_nonce(secret, client_first, &BASE64.encode(bytes))
    }

    fn with_nonce(secret: ScramSecret, client_first: &[u8], own_nonce: &str) -> Result<ScramExchange> {
        let text = std::str::from_utf8(client_first).map_err(|_| malformed("is not UTF-8"))?;
        // `n,,` or `y,,`: no channel binding, and an authorization identity that is not used.
        let mut parts = text.splitn(3, ',');
        let (Some(flag), Some(identity), Some(bare)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(malformed("has no header"));
        };
        if !matches!(flag, "n" | "y") {
            return Err(malformed("asks for channel binding, which is not offered"));
        }
        if !(identity.is_empty() || identity.starts_with("a=")) {
            return Err(malformed("has no header"));
        }
        let mut attributes = bare.split(',');
        let (name, nonce) = (attributes.next(), attributes.next().and_then(|text| text.strip_prefix("r=")));
        let (Some(true), Some(client_nonce)) = (name.map(|text| text.starts_with("n=")), nonce) else {
            return Err(malformed("lacks the name or the nonce"));
        };
        if client_nonce.is_empty() {
            return Err(malformed("has an empty nonce"));
        }
        let nonce = format!("{client_nonce}{own_nonce}");
        let server_first = format!("r={nonce},s={},i={SCRAM_ROUNDS}", BASE64.encode(&secret.salt));
        Ok(ScramExchange {
            secret,
            client_first_bare: bare.to_owned(),
            server_first,
            channel_binding: BASE64.encode(format!("{flag},{identity},")),
            nonce,
        })
    }

    /// The first message of the server.
    pub fn challenge(&self) -> &str {
        &self.server_first
    }

    /// Whether the last message of the client proves the password; then the last message of the server.
    pub fn finish(&self, client_final: &[u8]) -> Result<Option<String>> {
        let text = std::str::from_utf8(client_final).map_err(|_| malformed("is not UTF-8"))?;
        let Some((without_proof, proof)) = text.rsplit_once(",p=") else {
            return Err(malformed("has no proof"));
        };
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|text| text.strip_prefix("c="));
        let nonce = attributes.next().and_then(|text| text.strip_prefix("r="));
        if binding != Some(&self.channel_binding) || nonce != Some(&self.nonce) {
            return Err(malformed("repeats another header or nonce"));
        }
        let proof: Option<[u8; 32]> = BASE64.decode(proof).ok().and_then(|bytes| bytes.try_into().ok());
        let Some(proof) = proof else { return Err(malformed("has a proof of a wrong form")) };
        let message = format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        Ok(self.secret.is_proved(&message, &proof).then(|| {
            let signature = hmac(&hmac(&self.secret.salted_password, b"Server Key"), message.as_bytes());
            format!("v={}", BASE64.encode(signature))
        }))
    }
}

impl ScramSecret {
    fn is_proved(&self, message: &str, proof: &[u8; 32]) -> bool {
        let stored_key = Sha256::digest(hmac(&self.salted_password, b"Client Key"));
        let signature = hmac(&stored_key, message.as_bytes());
        let client_key: [u8; 32] = std::array::from_fn(|at| proof[at] ^ signature[at]);
        Sha256::digest(client_key).ct_eq(&stored_key).into()
    }
}

fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mac) => mac.chain_update(text).finalize().into_bytes().into(),
        // A key of any length is one.
        Err(_) => [0; 32],
    }
}

fn malformed(what: &str) -> Error {
    Error::new(ErrorCode::AuthenticationFailed, format!("the message of {SCRAM_SHA_256} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::salted_password;

    /// The example of RFC 7677 section 3.
    const CLIENT_FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const SERVER_NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const CLIENT_FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                                p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    fn exchange(password: &str) -> ScramExchange {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
        let secret = ScramSecret { salted_password: salted_password(password, &salt), salt };
        ScramExchange::with_nonce(secret, CLIENT_FIRST.as_bytes(), SERVER_NONCE).expect("a message")
    }

    #[test]
    fn the_example_of_the_standard_is_proved() {
        let exchange = exchange("pencil");
        let expected =
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(exchange.challenge(), expected);
        let last = exchange.finish(CLIENT_FINAL.as_bytes()).expect("a message");
        assert_eq!(last.as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    }

    #[test]
    fn another_password_is_not() {
        assert_eq!(exchange("pencils").finish(CLIENT_FINAL.as_bytes()).expect("a message"), None);
    }

    #[test]
    fn every_flipped_bit_of_the_last_message_fails() {
        let exchange = exchange("pencil");
        for bit in 0..CLIENT_FINAL.len() * 8 {
            let mut bytes = CLIENT_FINAL.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(exchange.finish(&bytes), Ok(Some(_))), "bit {bit}");
        }
        for length in 0..CLIENT_FINAL.len() {
            assert!(!matches!(exchange.finish(&CLIENT_FINAL.as_bytes()[..length]), Ok(Some(_))), "{length}");
        }
    }

    #[test]
    fn wrong_first_messages_are_errors() {
        let secret = ScramSecret { salted_password: [0; 32], salt: Vec::new() };
        for first in ["", "n", "n,,", "p=tls-unique,,n=u,r=x", "n,b,n=u,r=x", "n,,n=u", "n,,r=x", "n,,n=u,r="]
        {
            assert!(ScramExchange::begin(secret.clone(), first.as_bytes()).is_err(), "{first}");
        }
        assert!(ScramExchange::begin(secret.clone(), b"\xff").is_err());
        let exchange = ScramExchange::begin(secret, b"y,a=me,n=u,r=x").expect("a message");
        assert!(exchange.challenge().starts_with("r=x") && exchange.challenge().len() > 20);
    }
}
