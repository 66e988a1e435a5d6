//! The rows of an INSERT into a table of a server.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_wire::native::ServerPacket;

use super::client::{Client, Statement};

/// An INSERT that the server has begun. Dropping it before [`Insert::finish`] breaks the connection, and the INSERT
/// fails there.
pub struct Insert {
    client: Client,
}

impl Insert {
    /// Sends the statement, and waits until the server asks for the rows.
    pub(super) fn begin(mut client: Client, statement: &[u8]) -> Result<Insert> {
        client.ask(Statement { text: statement, ..Statement::default() })?;
        loop {
            match client.next_packet()? {
                ServerPacket::Data(_) => return Ok(Insert { client }),
                ServerPacket::EndOfStream => {
                    return Err(client.unexpected("no columns: the statement takes no rows"));
                }
                _ => {}
            }
        }
    }

    /// Sends rows. An error that the server has found in earlier rows is returned here.
    pub fn write(&mut self, columns: &Columns, rows: &RecordBatch) -> Result<()> {
        self.client.send_rows(columns, rows)
    }

    /// Ends the rows, and waits until the server has stored them.
    pub fn finish(mut self) -> Result<()> {
        self.client.end_rows()?;
        while !matches!(self.client.next_packet()?, ServerPacket::EndOfStream) {}
        Ok(())
    }
}
