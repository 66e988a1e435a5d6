//! SCRAM-SHA-256: both sides prove that they know the password without sending it.

use basalt_base::{Error, ErrorCode, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use pbkdf2::pbkdf2_hmac;
use sha2::{Digest, Sha256};

use crate::http::random_text;

const HASH_BYTES: usize = 32;
/// A server may not make the client compute for ever.
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

    /// The response to the server's salt and iteration count.
    pub(super) fn final_message(&mut self, server: &[u8]) -> Result<String> {
        let server = std::str::from_utf8(server).map_err(|_| refused())?;
        let field = |name: &str| server.split(',').find_map(|part| part.strip_prefix(name));
        let nonce = field("r=").filter(|nonce| nonce.starts_with(&self.nonce)).ok_or_else(refused)?;
        let salt = field("s=").and_then(|salt| BASE64_STANDARD.decode(salt).ok()).ok_or_else(refused)?;
        let rounds = field("i=").and_then(|rounds| rounds.parse().ok()).ok_or_else(refused)?;
        if !(1..=ITERATIONS_MAX).contains(&rounds) {
            return Err(refused());
        }
        let without_proof = format!("c=biws,r={nonce}");
        let auth_message = format!("{},{server},{without_proof}", self.first_bare());
        let proofs = Proofs::new(&self.password, &salt, rounds, &auth_message)?;
        self.signature = Some(proofs.server);
        Ok(format!("{without_proof},p={}", BASE64_STANDARD.encode(proofs.client)))
    }

    /// Checks the server's proof that it knows the password.
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

/// The client's proof and the server's signature, by RFC 5802, section 3.
struct Proofs {
    client: Vec<u8>,
    server: [u8; HASH_BYTES],
}

impl Proofs {
    fn new(password: &[u8], salt: &[u8], rounds: u32, auth_message: &str) -> Result<Proofs> {
        let mut salted = [0; HASH_BYTES];
        pbkdf2_hmac::<Sha256>(password, salt, rounds, &mut salted);
        let client_key = hmac(&salted, b"Client Key")?;
        let stored_key = Sha256::digest(client_key);
        let signature = hmac(&stored_key, auth_message.as_bytes())?;
        let client = client_key.iter().zip(signature).map(|(key, sign)| key ^ sign).collect();
        let server = hmac(&hmac(&salted, b"Server Key")?, auth_message.as_bytes())?;
        Ok(Proofs { client, server })
    }
}

fn hmac(key: &[u8], message: &[u8]) -> Result<[u8; HASH_BYTES]> {
    let mac = Hmac::<Sha256>::new_from_slice(key).map_err(Error::logical)?;
    Ok(mac.chain_update(message).finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const SALT: &str = "W22ZaJ0SNY7soEsUEjb6gQ==";

    /// The example of RFC 7677, section 3.
    #[test]
    fn proofs_are_those_of_the_standard() {
        let message = format!("n=user,r=rOprNGfwEbeRWgbNEkqO,r={NONCE},s={SALT},i=4096,c=biws,r={NONCE}");
        let salt = BASE64_STANDARD.decode(SALT).expect("base64");
        let proofs = Proofs::new(b"pencil", &salt, 4096, &message).expect("proofs");
        assert_eq!(BASE64_STANDARD.encode(proofs.client), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(BASE64_STANDARD.encode(proofs.server), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    /// The same challenge with the empty user name that PostgreSQL expects. The proofs were computed by another
    /// implementation.
    #[test]
    fn conversation_without_a_name_has_the_right_proofs() {
        let mut scram =
            Scram { password: b"pencil".to_vec(), nonce: "rOprNGfwEbeRWgbNEkqO".into(), signature: None };
        let answer =
            scram.final_message(format!("r={NONCE},s={SALT},i=4096").as_bytes()).expect("a challenge");
        assert_eq!(answer, format!("c=biws,r={NONCE},p=qvT2SWdEH5Q06albL+hjSYuUhCG7VndFyzIb7CK4n9k="));
        assert!(scram.verify(b"v=3HO6Qt1M4MKJrmlKaoOqLAI0/0TV0HZe7J9H3MBtSOg=").is_ok());
        assert!(scram.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_err());
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
