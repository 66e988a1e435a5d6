//! The first message of a SASL exchange.

use super::client_message::Fields;
use crate::read::{ReadResult, malformed};

/// The mechanism that a client chooses, and its first data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaslResponse {
    pub mechanism: String,
    pub data: Vec<u8>,
}

impl SaslResponse {
    /// Reads the body of a [`super::ClientMessage::Password`].
    pub fn read(body: &[u8]) -> ReadResult<SaslResponse> {
        let mut fields = Fields::new(body);
        let mechanism = fields.text("a mechanism")?;
        let data = fields.value()?.unwrap_or_default().to_vec();
        if !fields.is_empty() {
            return Err(malformed("a first message of SASL has bytes too many"));
        }
        Ok(SaslResponse { mechanism, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_a_mechanism_and_data() {
        let body = b"SCRAM-SHA-256\0\0\0\0\x03n,,";
        let expected = SaslResponse { mechanism: "SCRAM-SHA-256".to_owned(), data: b"n,,".to_vec() };
        assert_eq!(SaslResponse::read(body).expect("whole"), expected);
        for end in 0..body.len() {
            assert!(SaslResponse::read(&body[..end]).is_err(), "{end}");
        }
        assert!(SaslResponse::read(b"SCRAM-SHA-256\0\0\0\0\x03n,,more").is_err());
        assert_eq!(SaslResponse::read(b"X\0\xff\xff\xff\xff").expect("whole").data, b"");
    }
}
