//! The address of a database, or its replicas, which are tried in turn.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sources::{Address, TlsOptions};
use parking_lot::Mutex;

use super::parameters::Parameters;

/// The parameters that a replica may set for itself.
const REPLICA_PARAMETERS: [&str; 6] = ["host", "port", "socket", "user", "password", "priority"];
/// A parameter of MySQL, for one replica or for all.
pub(super) const COMPRESSION: &str = "enable_compression";
/// How long a replica that could not be reached is tried last.
const SHUNNED: Duration = Duration::from_secs(60);

/// The addresses of one database, at least one, in order of priority.
#[derive(Debug)]
pub(super) struct Replicas {
    addresses: Vec<Address>,
    /// Until when each address is tried last; `None` if the order never changes.
    shunned: Option<Mutex<Vec<Option<Instant>>>>,
    /// Rounds over all addresses while none can be reached.
    rounds: usize,
}

/// Defaults of the connections to a database.
pub(super) struct ConnectionDefaults {
    pub(super) port: u64,
    /// Whether a HOST that begins with a slash is the directory of the socket (libpq).
    pub(super) host_may_be_folder: bool,
    /// Rounds over the addresses.
    pub(super) rounds: usize,
    pub(super) can_compress: bool,
}

impl Replicas {
    /// The parameters HOST, PORT, SOCKET, USER and PASSWORD, or those of each REPLICA, which takes missing ones from
    /// the former. The smallest PRIORITY is tried first. ENABLE_COMPRESSION likewise, if the database has it.
    pub(super) fn parse(parameters: &Parameters<'_>, usual: &ConnectionDefaults) -> Result<Replicas> {
        let database = match parameters.text("database")? {
            Some(name) => Some(name),
            None => parameters.text("db")?,
        };
        let common = Address {
            host: parameters.text("host")?.unwrap_or_else(|| "localhost".to_owned()),
            port: port(parameters, usual.port)?,
            user: parameters.text("user")?.unwrap_or_default(),
            password: parameters.text("password")?.unwrap_or_default(),
            database: database.unwrap_or_default(),
            socket: socket(parameters)?,
            quota_key: String::new(),
            compression: compression(parameters, usual, false)?,
            tls: TlsOptions::default(),
        };
        // It only matters among several replicas.
        parameters.number("priority", 0)?;
        let mut replicas = Vec::new();
        for replica in parameters.all_nested("replica")? {
            let socket = socket(&replica)?;
            let host = replica.text("host")?;
            if host.is_none() && socket.is_none() {
                replica.required("host")?;
            }
            let address = Address {
                host: host.unwrap_or_else(|| common.host.clone()),
                port: port(&replica, u64::from(common.port))?,
                user: replica.text("user")?.unwrap_or_else(|| common.user.clone()),
                password: replica.text("password")?.unwrap_or_else(|| common.password.clone()),
                socket,
                compression: compression(&replica, usual, common.compression)?,
                ..common.clone()
            };
            replicas.push((replica.number("priority", 0)?, address));
            let known = REPLICA_PARAMETERS.iter().copied().chain(usual.can_compress.then_some(COMPRESSION));
            replica.finish(&known.collect::<Vec<_>>())?;
        }
        replicas.sort_by_key(|(priority, _)| *priority);
        let mut addresses: Vec<Address> = replicas.into_iter().map(|(_, address)| address).collect();
        if addresses.is_empty() {
            addresses.push(common);
        }
        for address in addresses.iter_mut().filter(|address| address.socket.is_none()) {
            if usual.host_may_be_folder && address.host.starts_with('/') {
                let file = format!(".s.PGSQL.{}", address.port);
                address.socket = Some(PathBuf::from(&address.host).join(file));
            }
        }
        let shuns = parameters.flag("background_reconnect", false)?;
        let shunned = shuns.then(|| Mutex::new(vec![None; addresses.len()]));
        Ok(Replicas { addresses, shunned, rounds: usual.rounds })
    }

    pub(super) fn set_database(&mut self, name: &str) {
        self.addresses.iter_mut().for_each(|address| address.database = name.to_owned());
    }

    /// The database of all of them.
    pub(super) fn database(&self) -> &str {
        self.addresses.first().map_or("", |address| &address.database)
    }

    /// The result of the first address that can be reached.
    pub(super) fn ask<T>(&self, tls: &TlsOptions, ask: impl Fn(&Address) -> Result<T>) -> Result<T> {
        let mut failures = Vec::new();
        for round in 1..=self.rounds {
            failures.clear();
            for at in self.order() {
                let address = &self.addresses[at];
                match ask(&Address { tls: tls.clone(), ..address.clone() }) {
                    Err(error) if is_of_one(&error) => {
                        self.shun(at);
                        failures.push(error);
                    }
                    other => return other,
                }
            }
            // A timeout or a refusal would be the same the next moment.
            let may_pass = failures.iter().any(|error| error.code() == ErrorCode::NetworkError);
            if !may_pass || round == self.rounds {
                break;
            }
        }
        match failures.len() {
            0 | 1 => Err(failures.pop().unwrap_or_else(|| Error::logical("a source without an address"))),
            _ => {
                let messages: Vec<&str> = failures.iter().map(Error::message).collect();
                let code = failures.last().map_or(ErrorCode::NetworkError, Error::code);
                Err(Error::new(code, format!("no replica answers: {}", messages.join("; "))))
            }
        }
    }

    /// The indexes of the addresses in the order in which they are tried now.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.addresses.len()).collect();
        if let Some(shunned) = &self.shunned {
            let (shunned, now) = (shunned.lock(), Instant::now());
            order.sort_by_key(|&at| shunned[at].is_some_and(|until| until > now));
        }
        order
    }

    fn shun(&self, at: usize) {
        if let Some(shunned) = &self.shunned {
            shunned.lock()[at] = Some(Instant::now() + SHUNNED);
        }
    }
}

/// A path; an empty one is none.
fn socket(parameters: &Parameters<'_>) -> Result<Option<PathBuf>> {
    Ok(parameters.text("socket")?.filter(|path| !path.is_empty()).map(PathBuf::from))
}

fn compression(parameters: &Parameters<'_>, usual: &ConnectionDefaults, default: bool) -> Result<bool> {
    if usual.can_compress { parameters.flag(COMPRESSION, default) } else { Ok(false) }
}

/// Whether another replica may succeed.
fn is_of_one(error: &Error) -> bool {
    matches!(
        error.code(),
        ErrorCode::NetworkError | ErrorCode::TimeoutExceeded | ErrorCode::AuthenticationFailed
    )
}

fn port(parameters: &Parameters<'_>, default: u64) -> Result<u16> {
    let port = parameters.number("port", default)?;
    match u16::try_from(port) {
        Ok(port) => Ok(port),
        Err(_) => bail!(IncorrectDictionaryDefinition, "{port} is no port"),
    }
}
