//! The names in the certificate of a client.
//!
//! The certificate was verified before: these names are those that a trusted authority has signed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustls::pki_types::CertificateDer;

use super::der::{Element, Elements};

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// The version and the extensions of a certificate.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// The names of a client whose certificate is valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    /// `None` if there is no common name, or more than one.
    pub(crate) common_name: Option<String>,
    /// As `DNS:name`, `URI:address`, `IP:address` and `email:address`.
    pub(crate) alternative_names: Vec<String>,
}

impl ClientCertificate {
    pub(crate) fn read(certificate: &CertificateDer<'_>) -> ClientCertificate {
        names(certificate).unwrap_or_default()
    }
}

fn names(certificate: &[u8]) -> Option<ClientCertificate> {
    let signed = Elements(certificate).tagged(SEQUENCE)?;
    let mut fields = signed.elements().tagged(SEQUENCE)?.elements();
    let _ = fields.tagged(VERSION);
    fields.tagged(INTEGER)?;
    // The algorithm, the issuer and the dates.
    for _ in 0..3 {
        fields.tagged(SEQUENCE)?;
    }
    let subject = fields.tagged(SEQUENCE)?;
    let extensions = fields.find(|field| field.tag == EXTENSIONS);
    Some(ClientCertificate {
        common_name: common_name(subject),
        alternative_names: extensions.and_then(alternative_names).unwrap_or_default(),
    })
}

fn common_name(subject: Element<'_>) -> Option<String> {
    let sets = subject.elements().filter(|set| set.tag == SET);
    let mut values = sets.flat_map(Element::elements).filter_map(|attribute| {
        let mut fields = attribute.elements();
        let is_wanted = fields.tagged(OBJECT_IDENTIFIER)?.contents == COMMON_NAME;
        is_wanted.then(|| fields.next()).flatten()
    });
    match (values.next(), values.next()) {
        (Some(only), None) => text(only),
        // With two of them, each reader would know the client by another name.
        _ => None,
    }
}

fn alternative_names(extensions: Element<'_>) -> Option<Vec<String>> {
    let mut extensions = extensions.elements().tagged(SEQUENCE)?.elements();
    let wanted = extensions.find_map(|extension| {
        let mut fields = extension.elements();
        let is_wanted = fields.tagged(OBJECT_IDENTIFIER)?.contents == SUBJECT_ALTERNATIVE_NAME;
        is_wanted.then(|| fields.find(|field| field.tag == OCTET_STRING)).flatten()
    })?;
    Some(wanted.elements().tagged(SEQUENCE)?.elements().filter_map(alternative_name).collect())
}

fn alternative_name(name: Element<'_>) -> Option<String> {
    let ascii = |kind: &str| {
        let text = std::str::from_utf8(name.contents).ok().filter(|text| is_plain(text))?;
        Some(format!("{kind}:{text}"))
    };
    match name.tag {
        0x81 => ascii("email"),
        0x82 => ascii("DNS"),
        0x86 => ascii("URI"),
        0x87 => address(name.contents).map(|address| format!("IP:{address}")),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(bytes).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|bytes| Ipv6Addr::from(bytes).into())
}

fn text(value: Element<'_>) -> Option<String> {
    let is_text = matches!(value.tag, UTF8_STRING | PRINTABLE_STRING | IA5_STRING);
    let text = is_text.then(|| std::str::from_utf8(value.contents).ok()).flatten()?;
    is_plain(text).then(|| text.to_owned())
}

/// A name with a zero byte or a line end could be taken for another.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `openssl req -x509 -subj /O=Acme/CN=scraper` with alternative names of all kinds.
    const CERTIFICATE: &str = "\
         308201f330820199a0030201020214481ec60780ee4abc77a4d9f9cf88bb826286ca33300a06082a8648ce3d040302302131 \
         0d300b060355040a0c0441636d653110300e06035504030c07736372617065723020170d3236313132363132303532345a18 \
         0f32313039303131353132303532345a3021310d300b060355040a0c0441636d653110300e06035504030c07736372617065 \
         723059301306072a8648ce3d020106082a8648ce3d0301070342000486a8553871ba4818b73463cbec1693464b2bc7f87ba0 \
         1c2e48ce174c9c9f115fff9faaf181c0f7566bed0745042533ed3f23af01e3e5696d1620eb62e5a25d0ba381ac3081a9301d \
         0603551d0e04160414e688392127b1c2c68d2619cb09fc58a3a8398bfe301f0603551d23041830168014e688392127b1c2c6 \
         8d2619cb09fc58a3a8398bfe300f0603551d130101ff040530030101ff30560603551d11044f304d820f736372617065722e \
         6578616d706c6586157370696666653a2f2f61636d652f7363726170657287040a0000078710000000000000000000000000 \
         00000001810b6140622e6578616d706c65300a06082a8648ce3d0403020348003045022100b23dcbcc64dca54c12a66064fa \
         d68e66808eb3cd6d4481254e72dcdfbbb978e902207a9e7975da693a70d0ea263012acac3271a565514b62acf1ebbd4f59f3 \
         635e56";

    fn certificate() -> Vec<u8> {
        let digits: String = CERTIFICATE.split_whitespace().collect();
        hex::decode(digits).expect("hexadecimal")
    }

    fn read(bytes: &[u8]) -> ClientCertificate {
        ClientCertificate::read(&CertificateDer::from(bytes))
    }

    #[test]
    fn a_certificate_has_a_common_name_and_others() {
        let found = read(&certificate());
        assert_eq!(found.common_name.as_deref(), Some("scraper"));
        let expected = [
            "DNS:scraper.example",
            "URI:spiffe://acme/scraper",
            "IP:10.0.0.7",
            "IP:::1",
            "email:a@b.example",
        ];
        assert_eq!(found.alternative_names, expected);
    }

    #[test]
    fn damaged_certificates_are_read_without_a_panic() {
        let bytes = certificate();
        for end in 0..bytes.len() {
            read(&bytes[..end]);
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            read(&damaged);
        }
    }

    #[test]
    fn a_name_that_hides_its_end_is_no_name() {
        let mut bytes = certificate();
        let all: Vec<usize> = (0..bytes.len() - 7).filter(|at| &bytes[*at..at + 7] == b"scraper").collect();
        for at in all {
            bytes[at + 3] = 0;
        }
        let found = read(&bytes);
        assert_eq!(found.common_name, None);
        assert!(!found.alternative_names.iter().any(|name| name.starts_with("DNS:")));
    }
}
