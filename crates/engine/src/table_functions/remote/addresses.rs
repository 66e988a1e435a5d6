//! The addresses of servers: `a:9000,b` are two shards, `a|b` are two replicas of one.

use basalt_base::{Result, bail};

/// Addresses of one call.
const ADDRESSES_MAX: usize = 1000;

/// A host and its port.
pub(super) type HostPort = (String, u16);

/// The shards of an expression, each with its replicas.
pub(super) fn parse(text: &str, port: u16) -> Result<Vec<Vec<HostPort>>> {
    if text.contains(['{', '}', '*', '?']) {
        bail!(
            NotImplemented,
            "patterns in the addresses `{text}` are not implemented: list them with `,` and `|`"
        );
    }
    let shards: Vec<&str> = text.split(',').collect();
    if text.split([',', '|']).count() > ADDRESSES_MAX {
        bail!(BadArguments, "there are more than {ADDRESSES_MAX} addresses in one call");
    }
    let replicas = |shard: &str| shard.split('|').map(|address| one(address.trim(), port)).collect();
    shards.into_iter().map(replicas).collect()
}

/// `host`, `host:port`, `[::1]` or `[::1]:port`.
fn one(text: &str, port: u16) -> Result<HostPort> {
    let (host, given) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, Some(rest.strip_prefix(':').unwrap_or(rest))),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match given {
        None => Some(port),
        Some(given) => given.parse().ok().filter(|port| *port > 0),
    };
    match port {
        Some(port) if !host.is_empty() => Ok((host.to_owned(), port)),
        _ => bail!(BadArguments, "`{text}` is no address: it is `host`, `host:port` or `[::1]:port`"),
    }
}

#[cfg(test)]
mod tests {
    use basalt_base::ErrorCode;

    use super::*;

    fn check(text: &str, expected: &[&[(&str, u16)]]) {
        let owned = |shard: &&[(&str, u16)]| {
            shard.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect::<Vec<_>>()
        };
        assert_eq!(parse(text, 9).unwrap(), expected.iter().map(owned).collect::<Vec<_>>(), "{text}");
    }

    #[test]
    fn shards_and_replicas_are_told_apart() {
        check("a", &[&[("a", 9)]]);
        check("a:1, b|c:2", &[&[("a", 1)], &[("b", 9), ("c", 2)]]);
        check("[::1]:7,[fe80::2]", &[&[("::1", 7)], &[("fe80::2", 9)]]);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "a,", "a||b", ":1", "a:", "a:x", "a:0", "a:70000", "::1", "[::1]x", "[]:1"] {
            assert_eq!(parse(text, 9).unwrap_err().code(), ErrorCode::BadArguments, "{text}");
        }
        assert_eq!(parse("a{1..3}", 9).unwrap_err().code(), ErrorCode::NotImplemented);
    }
}
