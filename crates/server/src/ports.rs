//! The ports of a server: one for each interface.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use basalt_engine::{Error, ErrorCode, Result};
use tokio::net::TcpListener;

/// The port of an interface, as the configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The usual one. If another program has it, the server does without the interface.
    Usual(u16),
    Number(u16),
    /// The interface is off: `0`.
    Off,
    /// Any free port: `auto`.
    Free,
}

impl FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Port, String> {
        if text == "auto" {
            return Ok(Port::Free);
        }
        match text.parse() {
            Ok(0) => Ok(Port::Off),
            Ok(number) => Ok(Port::Number(number)),
            Err(_) => Err(format!("`{text}` is not a port: a number up to 65535, 0 for none, or auto")),
        }
    }
}

/// The ports of all interfaces.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub http: Port,
    /// HTTP with TLS.
    pub https: Port,
    /// The native protocol.
    pub tcp: Port,
    /// The native protocol with TLS.
    pub tcp_secure: Port,
    /// The protocol of PostgreSQL.
    pub postgres: Port,
    /// The protocol of Redis.
    pub redis: Port,
}

impl Default for Ports {
    fn default() -> Ports {
        Ports {
            http: Port::Number(8123),
            https: Port::Off,
            tcp: Port::Usual(9000),
            tcp_secure: Port::Off,
            postgres: Port::Usual(5432),
            redis: Port::Usual(6379),
        }
    }
}

/// A listener that does not accept yet.
pub(crate) struct Bound {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Port {
    /// Takes the port on `host`. `None` if the interface is off, or if the usual port is in use.
    pub(crate) async fn bind(self, host: &str) -> Result<Option<Bound>> {
        let number = match self {
            Port::Off => return Ok(None),
            Port::Free => 0,
            Port::Usual(number) | Port::Number(number) => number,
        };
        let bound = match TcpListener::bind((host, number)).await {
            Ok(listener) => listener.local_addr().map(|address| Bound { listener, address }),
            Err(error) => Err(error),
        };
        match (self, bound) {
            (_, Ok(bound)) => Ok(Some(bound)),
            (Port::Usual(_), Err(error)) if error.kind() == std::io::ErrorKind::AddrInUse => Ok(None),
            (_, Err(error)) => {
                let what = format!("cannot listen on `{host}:{number}`: {error}");
                Err(Error::new(ErrorCode::NetworkError, what))
            }
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Port::Usual(number) | Port::Number(number) => write!(f, "{number}"),
            Port::Off => f.write_str("0"),
            Port::Free => f.write_str("auto"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_number_or_none_or_free() {
        assert_eq!("9000".parse(), Ok(Port::Number(9000)));
        assert_eq!("0".parse(), Ok(Port::Off));
        assert_eq!("auto".parse(), Ok(Port::Free));
        for text in ["", "-1", "65536", "http"] {
            assert!(text.parse::<Port>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_usual_port_in_use_is_left_and_a_named_one_is_an_error() {
        let taken = Port::Free.bind("127.0.0.1").await.expect("a free port").expect("it is on");
        let number = taken.address.port();
        assert!(Port::Usual(number).bind("127.0.0.1").await.expect("no error").is_none());
        assert!(Port::Number(number).bind("127.0.0.1").await.is_err());
        assert!(Port::Off.bind("127.0.0.1").await.expect("no error").is_none());
    }
}
