//! What is kept of a client between its messages.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::zone::Zone;
use basalt_engine::{Error, Result, Session};
use basalt_wire::postgres::{MessageWriter, Severity};

use super::cancels::CancelKey;
use super::failure::{Failure, Outcome, state};
use super::portal::Portal;
use super::prepared::Prepared;
use super::transaction::Transaction;
use crate::connections::Channel;
use crate::shared::Shared;

/// Named statements of one client.
const STATEMENTS_MAX: usize = 10_000;
/// Portals of one client.
const PORTALS_MAX: usize = 1_000;
/// Answers are sent when they have as many bytes, if not before.
pub(super) const WAITING_BYTES: usize = 64 << 10;

/// A client that has logged in.
pub(super) struct Client {
    pub(super) shared: Arc<Shared>,
    pub(super) channel: Channel,
    pub(super) stop: tokio::sync::watch::Receiver<bool>,
    pub(super) key: CancelKey,
    /// Absent while the engine works for the client.
    pub(super) session: Option<Session>,
    pub(super) transaction: Transaction,
    statements: HashMap<String, Arc<Prepared>>,
    portals: HashMap<String, Portal>,
    /// Answers that are not sent yet.
    pub(super) answers: MessageWriter,
}

impl Client {
    pub(super) fn new(
        shared: Arc<Shared>,
        channel: Channel,
        stop: tokio::sync::watch::Receiver<bool>,
        key: CancelKey,
        session: Session,
        answers: MessageWriter,
    ) -> Client {
        Client {
            shared,
            channel,
            stop,
            key,
            session: Some(session),
            transaction: Transaction::default(),
            statements: HashMap::new(),
            portals: HashMap::new(),
            answers,
        }
    }

    pub(super) fn session(&mut self) -> Result<&mut Session> {
        self.session
            .as_mut()
            .ok_or_else(|| Error::logical("a statement began before the one before it had ended"))
    }

    /// The zone of times whose type has none.
    pub(super) fn zone(&mut self) -> Result<Zone> {
        let name = self.session()?.setting("session_timezone")?;
        if name.is_empty() { Ok(Zone::system()) } else { Zone::parse(&name) }
    }

    /// Sends the answers that wait.
    pub(super) async fn flush(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.answers.bytes);
        if bytes.is_empty() { Ok(()) } else { self.channel.send(&bytes).await }
    }

    /// Sends the answers if there are many.
    pub(super) async fn flush_many(&mut self) -> Result<()> {
        if self.answers.bytes.len() < WAITING_BYTES { Ok(()) } else { self.flush().await }
    }

    pub(super) fn warn(&mut self, warning: Option<(&str, &str)>) {
        if let Some((code, text)) = warning {
            self.answers.notice(Severity::Warning, code, text);
        }
    }

    /// Answers with an error of a statement.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.transaction.fail();
        self.answers.error(Severity::Error, failure.state, &failure.text);
    }

    pub(super) fn statement(&self, name: &str) -> Outcome<Arc<Prepared>> {
        let found = self.statements.get(name).map(Arc::clone);
        found.ok_or_else(|| {
            Failure::new(
                state::INVALID_STATEMENT_NAME,
                format!("prepared statement \"{name}\" does not exist"),
            )
        })
    }

    /// Keeps a statement. The one without a name is replaced.
    pub(super) fn keep_statement(&mut self, name: String, prepared: Prepared) -> Outcome<()> {
        if !name.is_empty() && self.statements.contains_key(&name) {
            let what = format!("prepared statement \"{name}\" already exists");
            return Err(Failure::new(state::DUPLICATE_STATEMENT, what));
        }
        if self.statements.len() >= STATEMENTS_MAX {
            let what = format!("there are {STATEMENTS_MAX} prepared statements: deallocate some");
            return Err(Failure::new(state::LIMIT_EXCEEDED, what));
        }
        self.statements.insert(name, Arc::new(prepared));
        Ok(())
    }

    /// Forgets a statement, or all of them.
    pub(super) fn drop_statements(&mut self, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.statements.remove(name).is_some(),
            None => {
                self.statements.clear();
                true
            }
        }
    }

    /// Takes a portal out, to use it.
    pub(super) fn take_portal(&mut self, name: &str) -> Outcome<Portal> {
        let found = self.portals.remove(name);
        found.ok_or_else(|| {
            Failure::new(state::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
        })
    }

    /// Fails if a new portal cannot have this name.
    pub(super) fn check_portal(&self, name: &str) -> Outcome<()> {
        if !name.is_empty() && self.portals.contains_key(name) {
            return Err(Failure::new(state::DUPLICATE_CURSOR, format!("portal \"{name}\" already exists")));
        }
        if self.portals.len() >= PORTALS_MAX {
            let what = format!("there are {PORTALS_MAX} portals: close some");
            return Err(Failure::new(state::LIMIT_EXCEEDED, what));
        }
        Ok(())
    }

    pub(super) fn keep_portal(&mut self, name: String, portal: Portal) {
        self.portals.insert(name, portal);
    }

    /// Ends all portals, with their queries.
    pub(super) fn drop_portals(&mut self) {
        self.portals.clear();
    }
}
