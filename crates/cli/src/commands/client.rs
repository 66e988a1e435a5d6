//! `basalt client`: statements on a server.

use crate::arguments::{ClientOptions, Settings};
use crate::connection::{HttpConnection, HttpOptions};
use crate::failure::Failure;
use crate::script;

pub(crate) fn run(options: ClientOptions, settings: Settings) -> Result<(), Failure> {
    let ClientOptions { host, port, user, password, database, statements } = options;
    let mut connection =
        HttpConnection::open(HttpOptions { host, port, user, password, database }, settings)?;
    let done = script::run(&mut connection, &statements);
    connection.close();
    done
}
