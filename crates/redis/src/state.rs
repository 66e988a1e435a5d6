//! What a connection remembers between commands.

use std::sync::Arc;

use basalt_base::Result;
use basalt_wire::resp::{CommandReader, Limits, ReplyWriter, Version};

use crate::call::Call;
use crate::database::{Database, SyncPolicy};
use crate::failure::Failure;
use crate::host::Host;
use crate::queue::{Queue, Watch};
use crate::transaction::Transaction;

/// The state of a connection.
pub struct Client {
    pub(crate) id: u64,
    pub(crate) name: Vec<u8>,
    pub(crate) number: u32,
    pub(crate) version: Version,
    pub(crate) user: Option<String>,
    needs_password: bool,
    pub(crate) queue: Option<Queue>,
    pub(crate) watches: Vec<Watch>,
    /// What HELLO goes on with once the password is known to be right.
    pub(crate) greeting: Option<Greeting>,
    pub(crate) reader: CommandReader,
    database: Option<(u32, Arc<Database>)>,
    /// Databases with changes that are not synced.
    pub(crate) unsynced: Vec<Arc<Database>>,
}

/// What the server does after a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Continue,
    /// Send the output and close the connection.
    Close,
    /// Check the password, then call [`Client::authenticated`] or [`Client::refused`].
    Authenticate {
        user: String,
        password: Vec<u8>,
    },
}

/// What HELLO does once the password is known to be right.
#[derive(Debug)]
pub(crate) struct Greeting {
    pub(crate) version: Version,
    pub(crate) name: Option<Vec<u8>>,
}

impl Client {
    /// A new connection. `user` is who it is without a password; `None` if it must give one.
    pub fn new(id: u64, user: Option<String>) -> Client {
        let limits = if user.is_some() { Limits::default() } else { Limits::before_authentication() };
        Client {
            id,
            name: Vec::new(),
            number: 0,
            version: Version::Resp2,
            needs_password: user.is_none(),
            user,
            queue: None,
            watches: Vec::new(),
            greeting: None,
            reader: CommandReader::new(limits),
            database: None,
            unsynced: Vec::new(),
        }
    }

    pub fn name(&self) -> &[u8] {
        &self.name
    }

    pub fn database_number(&self) -> u32 {
        self.number
    }

    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(crate) fn call<'a, 'o>(
        &self,
        host: &'a dyn Host,
        database: &'a Database,
        rows: &'a mut Transaction,
        words: &'a [&'a [u8]],
        out: &'o mut Vec<u8>,
    ) -> Call<'a, 'o> {
        let start = out.len();
        let reply = ReplyWriter { out, version: self.version };
        Call { host, database, number: self.number, rows, words, reply, start }
    }

    /// The current database.
    pub(crate) fn database(&mut self, host: &dyn Host) -> Result<Arc<Database>> {
        match &self.database {
            Some((number, database)) if *number == self.number => Ok(Arc::clone(database)),
            _ => {
                let database = host.database(self.number)?;
                self.database = Some((self.number, Arc::clone(&database)));
                Ok(database)
            }
        }
    }

    pub(crate) fn note_unsynced(&mut self, database: &Arc<Database>) {
        let is_noted = || self.unsynced.iter().any(|noted| Arc::ptr_eq(noted, database));
        if database.policy() == SyncPolicy::Always && !is_noted() {
            self.unsynced.push(Arc::clone(database));
        }
    }

    pub(crate) fn is_authenticated(&self) -> bool {
        !self.needs_password || self.user.is_some()
    }

    pub(crate) fn needs_password(&self) -> bool {
        self.needs_password
    }

    pub(crate) fn reset_user(&mut self) {
        if self.needs_password {
            self.user = None;
        }
    }

    pub(crate) fn failed(&self, failure: &Failure, out: &mut Vec<u8>) {
        ReplyWriter { out, version: self.version }.error(&failure.0);
    }
}
