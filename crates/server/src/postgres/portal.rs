//! A statement with the values of its parameters, and its rows as far as they were sent.

use std::sync::Arc;

use basalt_base::zone::Zone;
use basalt_engine::postgres::PostgresParameter;
use basalt_engine::{CancelHandle, Error, ErrorCode, QueryResult, Result, ResultBytes};
use basalt_wire::postgres::{FieldDescription, Format, ResultColumn, RowWriter, rows_end};
use tokio::sync::mpsc;

use super::answer::Answer;
use super::failure::Outcome;
use super::prepared::{Prepared, fields};

/// A bound statement.
pub(super) struct Portal {
    pub(super) prepared: Arc<Prepared>,
    pub(super) parameters: Vec<PostgresParameter>,
    pub(super) formats: Vec<Format>,
    pub(super) state: State,
}

/// How far a portal is.
pub(super) enum State {
    Bound,
    /// The rows that the engine computes.
    Rows(Box<Cursor>),
    /// What the session itself answered, and how many of its rows were sent.
    Answered {
        answer: Answer,
        sent: usize,
    },
    /// All was done; the tag is that of the end.
    Done(String),
}

/// The rows of a query, as messages.
pub(super) struct Cursor {
    pub(super) fields: Vec<FieldDescription>,
    tag: &'static str,
    bytes: ResultBytes,
    /// Messages that are not sent yet, from `at` on.
    pending: Vec<u8>,
    at: usize,
    rows: u64,
    pub(super) cancel: CancelHandle,
}

impl Cursor {
    pub(super) fn open(
        rows: QueryResult,
        tag: &'static str,
        formats: &[Format],
        zone: Zone,
        cancel: CancelHandle,
    ) -> Outcome<Cursor> {
        if rows.into_outfile().is_some() {
            return Err(Error::not_implemented(
                "INTO OUTFILE over the Postgres interface: use COPY ... TO STDOUT",
            )
            .into());
        }
        let names = rows.columns().iter().map(|column| column.name.as_str());
        let fields = fields(names, rows.postgres_types(), formats);
        let columns = result_columns(&rows, &fields);
        let bytes = rows.into_bytes_of(Box::new(RowWriter::new(columns, zone)));
        Ok(Cursor { fields, tag, bytes, pending: Vec::new(), at: 0, rows: 0, cancel })
    }

    /// The tag at the end of the rows.
    pub(super) fn tag(&self) -> String {
        match self.tag {
            tag @ ("EXPLAIN" | "SHOW") => tag.to_owned(),
            _ => format!("SELECT {}", self.rows),
        }
    }

    /// Sends at most `rows_max` rows. Returns whether there may be more.
    pub(super) async fn send(&mut self, rows_max: u64, pieces: &mpsc::Sender<Vec<u8>>) -> Result<bool> {
        let mut left = rows_max;
        loop {
            let (rows, length) = rows_end(&self.pending[self.at..], left);
            if rows > 0 {
                let piece = match (self.at, length == self.pending.len()) {
                    (0, true) => std::mem::take(&mut self.pending),
                    _ => self.pending[self.at..self.at + length].to_vec(),
                };
                self.at = if self.pending.is_empty() { 0 } else { self.at + length };
                (self.rows, left) = (self.rows + rows, left - rows);
                let gone = || Error::new(ErrorCode::NetworkError, "the client disconnected");
                pieces.send(piece).await.map_err(|_| gone())?;
            }
            if left == 0 {
                return Ok(true);
            }
            match self.bytes.next().await? {
                Some(bytes) => (self.pending, self.at) = (bytes, 0),
                None => return Ok(false),
            }
        }
    }
}

/// The columns of a result with the types that the client was told.
pub(super) fn result_columns(rows: &QueryResult, fields: &[FieldDescription]) -> Vec<ResultColumn> {
    let columns = rows.columns().iter().zip(fields);
    columns
        .map(|(column, field)| ResultColumn { ty: column.ty.clone(), oid: field.oid, format: field.format })
        .collect()
}
