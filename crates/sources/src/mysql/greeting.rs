//! The server's first message: its capabilities and its authentication method.

use super::capabilities::{COMPRESSION, TLS};

/// The server's handshake message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    /// The authentication method.
    pub(super) plugin: String,
    pub(super) salt: Vec<u8>,
    pub(super) has_tls: bool,
    pub(super) can_compress: bool,
}

pub(super) fn parse_greeting(message: &[u8]) -> Option<Greeting> {
    let (&version, rest) = message.split_first()?;
    if version != 10 {
        return None;
    }
    let name_end = rest.iter().position(|&byte| byte == 0)?;
    // After the version: a thread id, 8 bytes of salt, capabilities, charset, status, more capabilities, the salt's
    // length, ten reserved bytes, the rest of the salt, the method.
    let rest = rest.get(name_end + 1 + 4..)?;
    let mut salt = rest.get(..8)?.to_vec();
    let rest = rest.get(8 + 1..)?;
    let abilities = u32::from(u16::from_le_bytes(*rest.first_chunk()?));
    let rest = rest.get(2 + 1 + 2 + 2 + 1 + 10..)?;
    salt.extend_from_slice(rest.get(..12)?);
    let plugin = rest.get(13..)?.split(|&byte| byte == 0).next()?;
    Some(Greeting {
        plugin: String::from_utf8_lossy(plugin).into_owned(),
        salt,
        has_tls: abilities & TLS > 0,
        can_compress: abilities & COMPRESSION > 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_greeting_is_refused() {
        let mut greeting =
            [&[10][..], b"8\0", &[1; 4], &[2; 8], &[0; 19], &[3; 12], &[0], b"mysql_native_password\0"]
                .concat();
        let parsed = parse_greeting(&greeting).expect("a greeting");
        assert_eq!((parsed.plugin.as_str(), parsed.salt.len()), ("mysql_native_password", 20));
        assert!(!parsed.has_tls && !parsed.can_compress);
        for end in 0..greeting.len() - 23 {
            assert_eq!(parse_greeting(&greeting[..end]), None, "{end}");
        }
        greeting[16..18].copy_from_slice(&((TLS | COMPRESSION) as u16).to_le_bytes());
        assert!(parse_greeting(&greeting).is_some_and(|parsed| parsed.has_tls && parsed.can_compress));
    }
}
