//! `basalt client`: statements on a server.

use basalt_sources::{TlsMode, TlsOptions};

use crate::arguments::{ClientOptions, Protocol, Settings};
use crate::connection::{HttpConnection, HttpOptions, NativeConnection, NativeOptions};
use crate::failure::Failure;
use crate::script;

const HTTP_PORT: u16 = 8123;
const NATIVE_PORT: u16 = 9000;
const NATIVE_PORT_SECURE: u16 = 9440;

pub(crate) fn run(options: ClientOptions, settings: Settings) -> Result<(), Failure> {
    let tls = options.tls();
    let ClientOptions { host, port, user, password, database, statements, protocol, secure, .. } = options;
    if secure || protocol == Protocol::Native {
        let port = port.unwrap_or(if secure { NATIVE_PORT_SECURE } else { NATIVE_PORT });
        let options = NativeOptions { host, port, user, password, database, tls };
        let mut connection = NativeConnection::open(options, settings)?;
        let done = script::run(&mut connection, &statements);
        connection.close();
        return done;
    }
    let port = port.unwrap_or(HTTP_PORT);
    let mut connection =
        HttpConnection::open(HttpOptions { host, port, user, password, database }, settings)?;
    let done = script::run(&mut connection, &statements);
    connection.close();
    done
}

impl ClientOptions {
    fn tls(&self) -> TlsOptions {
        let mode = match (self.secure, self.accept_invalid_certificate) {
            (false, _) => TlsMode::Disable,
            (true, true) => TlsMode::Require,
            (true, false) => TlsMode::VerifyFull,
        };
        TlsOptions { mode, roots: self.tls_ca_file.clone(), ..TlsOptions::default() }
    }
}
