//! A session: settings and a current database that last from one statement to the next.

use std::sync::Arc;

use basalt_base::Result;

use crate::{Engine, Outcome, Request};

/// One user's connection to an [`Engine`]. Statements of a session run one at a time.
pub struct Session {
    engine: Arc<Engine>,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>) -> Session {
        Session { engine }
    }

    /// Runs one statement. Returns when a statement without rows is done, or when a result set has
    /// its columns; the rows are computed while they are fetched.
    pub async fn execute(&mut self, request: Request) -> Result<Outcome> {
        let _ = (&self.engine, request);
        Err(basalt_base::Error::not_implemented("execute"))
    }

    /// Splits a script into its statements, without running them: each is the text of one statement
    /// (with the data that belongs to an INSERT), as [`Request::text`] wants it.
    pub fn split(script: &[u8]) -> Result<Vec<Vec<u8>>> {
        let _ = script;
        Ok(Vec::new())
    }

    /// The value of a setting for all later statements, as `SET name = value`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let _ = (name, value);
        Ok(())
    }

    /// The value of a setting, as text.
    pub fn setting(&self, name: &str) -> Result<String> {
        Err(basalt_base::Error::not_implemented(name))
    }

    pub fn current_database(&self) -> &str {
        "default"
    }

    /// `USE name`.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// The user that this session belongs to; `default` at first.
    pub fn set_user(&mut self, name: &str) {
        let _ = name;
    }

    /// Names that complete what a user types: keywords, functions, databases, tables, columns.
    pub fn completions(&self) -> Vec<String> {
        Vec::new()
    }
}
