//! Any bytes are an address or an error; what is read is written as text that reads back to the same.

use basalt_formats::text::{
    parse_ipv4, parse_ipv6, parse_strict_ipv4, parse_uuid, write_ipv4, write_ipv6, write_uuid,
};

/// Panics if the promise is broken.
pub fn run(text: &[u8]) {
    let mut written = Vec::new();
    if let Ok(address) = parse_ipv4(text) {
        write_ipv4(address, &mut written);
        assert_eq!(parse_ipv4(&written).ok(), Some(address), "{}", shown(text));
        assert_eq!(parse_strict_ipv4(&written).ok(), Some(address), "{}", shown(text));
    }
    if let Ok(address) = parse_strict_ipv4(text) {
        assert_eq!(parse_ipv4(text).ok(), Some(address), "{}", shown(text));
    }
    if let Ok(address) = parse_ipv6(text) {
        written.clear();
        write_ipv6(&address, &mut written);
        assert_eq!(parse_ipv6(&written).ok(), Some(address), "{}", shown(text));
        // The standard library knows the same addresses in its own forms.
        let known: Option<std::net::Ipv6Addr> = shown(&written).parse().ok();
        assert_eq!(known.map(|known| known.octets()), Some(address), "{}", shown(text));
    }
    if let Ok(uuid) = parse_uuid(text) {
        written.clear();
        write_uuid(&uuid, &mut written);
        assert_eq!(parse_uuid(&written).ok(), Some(uuid), "{}", shown(text));
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
