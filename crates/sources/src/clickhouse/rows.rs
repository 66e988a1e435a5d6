//! The rows of a query, one block at a time.

use std::borrow::BorrowMut;

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_formats::BlockSource;
use basalt_wire::native::ServerPacket;

use super::client::{Client, Statement};

/// The rows of a query. Dropping them before their end cancels the query.
pub struct Rows<C: BorrowMut<Client>> {
    client: C,
    columns: Columns,
    is_done: bool,
}

impl<C: BorrowMut<Client>> Rows<C> {
    /// Sends a query, and waits for the columns of its result.
    pub(super) fn begin(mut client: C, query: &[u8]) -> Result<Rows<C>> {
        let connection = client.borrow_mut();
        connection.ask(Statement { text: query, ..Statement::default() })?;
        let columns = loop {
            match connection.next_packet()? {
                ServerPacket::Data(header) if header.columns.is_empty() => {}
                ServerPacket::Data(header) if header.rows.num_rows() == 0 => break header.columns,
                ServerPacket::Data(_) => return Err(connection.unexpected("rows before their columns")),
                ServerPacket::EndOfStream => {
                    return Err(connection.unexpected("no columns: the statement has no result"));
                }
                _ => {}
            }
        };
        Ok(Rows { client, columns, is_done: false })
    }

    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The next rows, or `None` after the last ones.
    pub fn next_rows(&mut self) -> Result<Option<RecordBatch>> {
        while !self.is_done {
            // After an error nothing else can be read.
            self.is_done = true;
            let client = self.client.borrow_mut();
            let packet = client.next_packet()?;
            if matches!(packet, ServerPacket::EndOfStream) {
                return Ok(None);
            }
            self.is_done = false;
            let ServerPacket::Data(block) = packet else { continue };
            if block.rows.num_rows() == 0 {
                continue;
            }
            if !have_same_types(&block.columns, &self.columns) {
                self.is_done = true;
                return Err(client.unexpected("rows of other columns than it announced"));
            }
            return Ok(Some(block.rows));
        }
        Ok(None)
    }
}

fn have_same_types(columns: &Columns, others: &Columns) -> bool {
    columns.len() == others.len() && columns.iter().zip(others.iter()).all(|(one, other)| one.ty == other.ty)
}

impl<C: BorrowMut<Client> + Send> BlockSource for Rows<C> {
    fn next_block(&mut self) -> Result<Option<(Columns, RecordBatch)>> {
        Ok(self.next_rows()?.map(|rows| (self.columns.clone(), rows)))
    }
}

impl<C: BorrowMut<Client>> Drop for Rows<C> {
    fn drop(&mut self) {
        if !self.is_done {
            self.client.borrow_mut().leave();
        }
    }
}
