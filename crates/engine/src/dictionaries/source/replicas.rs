//! Where a database is: one address, or the replicas that are asked in turn.

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sources::{Address, TlsOptions};

use super::parameters::Parameters;

/// What a replica may say for itself.
const REPLICA_PARAMETERS: [&str; 5] = ["host", "port", "user", "password", "priority"];

/// Addresses of one database, at least one, in the order in which they are asked.
#[derive(Clone, Debug)]
pub(super) struct Replicas(Vec<Address>);

impl Replicas {
    /// The parameters HOST, PORT, USER and PASSWORD, or those of each REPLICA, which take what they do not say
    /// from the former; the smallest PRIORITY is asked first.
    pub(super) fn parse(parameters: &Parameters<'_>, default_port: u64) -> Result<Replicas> {
        let database = match parameters.text("database")? {
            Some(name) => Some(name),
            None => parameters.text("db")?,
        };
        let common = Address {
            host: parameters.text("host")?.unwrap_or_else(|| "localhost".to_owned()),
            port: port(parameters, default_port)?,
            user: parameters.text("user")?.unwrap_or_default(),
            password: parameters.text("password")?.unwrap_or_default(),
            database: database.unwrap_or_default(),
            tls: TlsOptions::default(),
        };
        let mut replicas = Vec::new();
        for replica in parameters.all_nested("replica")? {
            let address = Address {
                host: replica.required("host")?,
                port: port(&replica, u64::from(common.port))?,
                user: replica.text("user")?.unwrap_or_else(|| common.user.clone()),
                password: replica.text("password")?.unwrap_or_else(|| common.password.clone()),
                ..common.clone()
            };
            replicas.push((replica.number("priority", 1)?, address));
            replica.finish(&REPLICA_PARAMETERS)?;
        }
        if replicas.is_empty() {
            return Ok(Replicas(vec![common]));
        }
        replicas.sort_by_key(|(priority, _)| *priority);
        Ok(Replicas(replicas.into_iter().map(|(_, address)| address).collect()))
    }

    pub(super) fn set_database(&mut self, name: &str) {
        self.0.iter_mut().for_each(|address| address.database = name.to_owned());
    }

    /// The database of all of them.
    pub(super) fn database(&self) -> &str {
        self.0.first().map_or("", |address| &address.database)
    }

    /// What the first that can be reached answers.
    pub(super) fn ask<T>(&self, tls: &TlsOptions, ask: impl Fn(&Address) -> Result<T>) -> Result<T> {
        let mut failures = Vec::new();
        for address in &self.0 {
            match ask(&Address { tls: tls.clone(), ..address.clone() }) {
                Err(error) if self.0.len() > 1 && is_of_one(&error) => failures.push(error),
                other => return other,
            }
        }
        let messages: Vec<&str> = failures.iter().map(Error::message).collect();
        let code = failures.last().map_or(ErrorCode::NetworkError, Error::code);
        Err(Error::new(code, format!("no replica answers: {}", messages.join("; "))))
    }
}

/// Whether another replica may do better.
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
