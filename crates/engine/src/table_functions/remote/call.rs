//! The arguments of `remote` and `remoteSecure`.

use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_sources::{Address, TlsMode, TlsOptions};
use basalt_sql::{ast, quote_name};

use super::super::arguments::Arguments;
use super::addresses::{self, HostPort};
use super::origin::Origin;
use super::servers::Servers;
use super::structure::definition;
use super::table::RemoteTable;
use crate::execution::Execution;
use crate::tables::Table;

const PORT: u16 = 9000;
const SECURE_PORT: u16 = 9440;
/// The user of a call that names none.
const USER: &str = "default";

/// How a connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Transport {
    Plain,
    /// TLS with a certificate for the host, signed by an authority that is trusted here.
    Tls,
}

/// The table that a call names.
pub(in super::super) fn remote(
    args: &Arguments<'_>,
    transport: Transport,
    query: &Arc<Execution>,
) -> Result<Arc<dyn Table>> {
    args.check_count(2, 5)?;
    let (from, next) = from(args)?;
    args.check_count(next, next + 2)?;
    let text = |at: usize| if at < args.len() { args.text(at).map(Some) } else { Ok(None) };
    let user = text(next)?.unwrap_or_else(|| USER.to_owned());
    let password = text(next + 1)?.unwrap_or_default();
    let (port, tls) = match transport {
        Transport::Plain => (PORT, TlsOptions::default()),
        Transport::Tls => {
            let more_roots = query.instance.access.tls_ca_file.clone();
            (SECURE_PORT, TlsOptions { mode: TlsMode::VerifyFull, more_roots, ..TlsOptions::default() })
        }
    };
    let address = |(host, port): HostPort| {
        query.instance.access.remote_hosts.check(&host, port)?;
        let (user, password, tls) = (user.clone(), password.clone(), tls.clone());
        Ok(Address { host, port, user, password, tls, ..Address::default() })
    };
    let shards = addresses::parse(&args.text(0)?, port)?;
    let shards = shards.into_iter().map(|shard| shard.into_iter().map(&address).collect());
    let servers = Servers::new(shards.collect::<Result<_>>()?, query);
    let definition = definition(&servers, &from, &args.call.name)?;
    Ok(Arc::new(RemoteTable::new(servers, from, definition, query)))
}

/// `database.table`, or `database, table`, or a table function; and the position of the next argument.
fn from(args: &Arguments<'_>) -> Result<(Origin, usize)> {
    let table = |database: &str, table: &str| {
        Origin::Table(format!("{}.{}", quote_name(database), quote_name(table)))
    };
    match &args.call.args[1] {
        ast::Expr::Function(call) => return Ok((Origin::Function(call.to_string()), 2)),
        ast::Expr::Identifier(parts) if parts.len() == 2 => return Ok((table(&parts[0], &parts[1]), 2)),
        _ => {}
    }
    let database = args.text(1)?;
    if let Some((database, name)) = database.split_once('.') {
        return Ok((table(database, name), 2));
    }
    if args.len() < 3 {
        bail!(BadArguments, "table function `{}` needs the name of a table", args.call.name);
    }
    Ok((table(&database, &args.text(2)?), 3))
}
