//! SCRAM-SHA-256: both sides prove that they know the password, and neither shows it.

use basalt_base::{Error, ErrorCode, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::http::random_text;

const BLOCK_BYTES: usize = 64;
const HASH_BYTES: usize = 32;
/// A server may not keep us busy for ever.
const ITERATIONS_MAX: u32 = 10_000_000;

pub(super) struct Scram {
    password: Vec<u8>,
    nonce: String,
    signature: Option<[u8; HASH_BYTES]>,
}

impl Scram {
    pub(super) fn new(password: &[u8]) -> Result<Scram> {
        Ok(Scram { password: password.to_vec(), nonce: random_text()?, signature: None })
    }

    pub(super) fn first_message(&self) -> String {
        format!("n,,{}", self.first_bare())
    }

    fn first_bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// The answer to the server's salt and count of rounds.
    pub(super) fn final_message(&mut self, server: &[u8]) -> Result<String> {
        let server = std::str::from_utf8(server).map_err(|_| refused())?;
        let field = |name: &str| server.split(',').find_map(|part| part.strip_prefix(name));
        let nonce = field("r=").filter(|nonce| nonce.starts_with(&self.nonce)).ok_or_else(refused)?;
        let salt = field("s=").and_then(|salt| BASE64_STANDARD.decode(salt).ok()).ok_or_else(refused)?;
        let rounds = field("i=").and_then(|rounds| rounds.parse().ok()).ok_or_else(refused)?;
        if !(1..=ITERATIONS_MAX).contains(&rounds) {
            return Err(refused());
        }
        let salted = salted_password(&self.password, &salt, rounds);
        let client_key = hmac(&salted, b"Client Key");
        let stored_key: [u8; HASH_BYTES] = Sha256::digest(client_key).into();
        let without_proof = format!("c=biws,r={nonce}");
        let everything = format!("{},{server},{without_proof}", self.first_bare());
        let signature = hmac(&stored_key, everything.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(signature).map(|(key, sign)| key ^ sign).collect();
        self.signature = Some(hmac(&hmac(&salted, b"Server Key"), everything.as_bytes()));
        Ok(format!("{without_proof},p={}", BASE64_STANDARD.encode(proof)))
    }

    /// Whether the server knows the password too.
    pub(super) fn verify(&self, server: &[u8]) -> Result<()> {
        let given = std::str::from_utf8(server).ok().and_then(|text| text.trim().strip_prefix("v="));
        let given = given.and_then(|text| BASE64_STANDARD.decode(text).ok());
        let is_known = self.signature.is_some_and(|known| given.as_deref() == Some(&known[..]));
        if is_known { Ok(()) } else { Err(refused()) }
    }
}

fn refused() -> Error {
    Error::new(ErrorCode::AuthenticationFailed, "PostgreSQL does not keep to SCRAM-SHA-256")
}

/// PBKDF2 with HMAC-SHA-256, of one block.
fn salted_password(password: &[u8], salt: &[u8], rounds: u32) -> [u8; HASH_BYTES] {
    let mut last = hmac(password, &[salt, &1_u32.to_be_bytes()].concat());
    let mut all = last;
    for _ in 1..rounds {
        last = hmac(password, &last);
        all.iter_mut().zip(last).for_each(|(all, last)| *all ^= last);
    }
    all
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; HASH_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    if key.len() > BLOCK_BYTES {
        block[..HASH_BYTES].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677.
    #[test]
    fn the_proof_is_that_of_the_standard() {
        let mut scram =
            Scram { password: b"pencil".to_vec(), nonce: "rOprNGfwEbeRWgbNEkqO".into(), signature: None };
        let server =
            b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        // The example names its user, PostgreSQL wants none here: the proof differs, the form does not.
        let answer = scram.final_message(server).expect("a well-formed challenge");
        assert!(answer.starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="));
        assert_eq!(
            hmac(b"key", b"The quick brown fox jumps over the lazy dog")[..4],
            [0xf7, 0xbc, 0x83, 0xf4]
        );
        assert!(scram.verify(b"v=AAAA").is_err());
    }

    #[test]
    fn a_foreign_nonce_is_refused() {
        let mut scram = Scram { password: Vec::new(), nonce: "abc".into(), signature: None };
        assert!(scram.final_message(b"r=xyz,s=W22Z,i=4096").is_err());
        assert!(scram.final_message(b"r=abcd,s=W22Z,i=0").is_err());
        assert!(scram.final_message(b"r=abcd,s=!,i=5").is_err());
    }
}
