//! The packets of a client after its greeting.

use std::io::Read;

use super::query::Query;
use crate::frame::read_frame;
use crate::read::{ReadError, ReadPrimitives, ReadResult, malformed};

pub(super) const QUERY: u64 = 1;
pub(super) const DATA: u64 = 2;
pub(super) const CANCEL: u64 = 3;
pub(super) const PING: u64 = 4;
const TABLES_STATUS: u64 = 5;
const KEEP_ALIVE: u64 = 6;
pub(super) const SCALAR: u64 = 7;
const IGNORED_PART_UUIDS: u64 = 8;

/// Database and table names.
const NAME_BYTES_MAX: usize = 64 << 10;
const TABLES_MAX: u64 = 100_000;

/// The largest frame that may hold the empty block: a larger one has rows.
const EMPTY_BLOCK_BYTES_MAX: usize = 64;

/// A packet of a client, without the block that may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientPacket {
    Query(Box<Query>),
    /// A block follows.
    Data,
    /// A block with the value of a subquery follows.
    Scalar,
    Cancel,
    Ping,
    /// Asks which of these tables (database, name) there are.
    TablesStatus(Vec<(String, String)>),
    KeepAlive,
}

impl ClientPacket {
    /// Reads a packet.
    pub fn read(mut input: impl Read, revision: u64) -> ReadResult<ClientPacket> {
        let input = &mut input;
        Ok(match input.varint()? {
            QUERY => ClientPacket::Query(Box::new(Query::read(input, revision)?)),
            DATA => ClientPacket::Data,
            SCALAR => ClientPacket::Scalar,
            CANCEL => ClientPacket::Cancel,
            PING => ClientPacket::Ping,
            TABLES_STATUS => ClientPacket::TablesStatus(read_tables(input)?),
            KEEP_ALIVE => ClientPacket::KeepAlive,
            IGNORED_PART_UUIDS => {
                return Err(malformed("the packet IgnoredPartUUIDs is not implemented"));
            }
            other => return Err(malformed(format!("there is no packet {other} of a client"))),
        })
    }
}

fn read_tables(input: &mut impl Read) -> ReadResult<Vec<(String, String)>> {
    let count = input.varint()?;
    if count > TABLES_MAX {
        return Err(malformed(format!("a request for the status of {count} tables")));
    }
    let mut tables = Vec::new();
    for _ in 0..count {
        let database = input.text(NAME_BYTES_MAX, "the database")?;
        tables.push((database, input.text(NAME_BYTES_MAX, "the table")?));
    }
    Ok(tables)
}

/// What follows a statement: the end of its data, or blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOfData {
    Reached,
    /// A block with rows or columns comes first.
    NotYet,
}

/// Reads the packet `Data` with an empty block that ends the data of a statement. If another packet comes first, the
/// caller must read it again from its first byte.
pub fn read_end_of_data(mut input: impl Read, is_compressed: bool) -> ReadResult<EndOfData> {
    let input = &mut input;
    if input.varint()? != DATA || !input.prefixed(NAME_BYTES_MAX, "the name of a block")?.is_empty() {
        return Ok(EndOfData::NotYet);
    }
    let is_empty = if is_compressed { is_empty_frame(input)? } else { is_empty_block(input)? };
    Ok(if is_empty { EndOfData::Reached } else { EndOfData::NotYet })
}

fn is_empty_frame(input: &mut impl Read) -> ReadResult<bool> {
    let head: [u8; 25] = input.array()?;
    let frame_bytes = u32::from_le_bytes([head[17], head[18], head[19], head[20]]) as usize;
    if frame_bytes > EMPTY_BLOCK_BYTES_MAX {
        return Ok(false);
    }
    let data = read_frame(&mut head.as_slice().chain(input))?;
    match is_empty_block(&mut data.as_slice()) {
        // The rest of the block is in the next frame.
        Err(ReadError::Incomplete(_)) => Ok(false),
        other => other,
    }
}

/// A block without columns and rows.
fn is_empty_block(input: &mut impl Read) -> ReadResult<bool> {
    loop {
        match input.varint()? {
            0 => break,
            1 => drop(input.byte()?),
            2 => drop(input.number32()?),
            other => return Err(malformed(format!("a block has the unknown field {other}"))),
        }
    }
    Ok(input.varint()? == 0 && input.varint()? == 0)
}
