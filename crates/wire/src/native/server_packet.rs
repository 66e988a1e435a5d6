//! The packets of a server.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Error, Result};

use super::blocks::{BlockPackets, put_head};
use super::profile_events;
use super::revision::{
    PROFILE_EVENTS as PROFILE_EVENTS_OF_QUERIES, PROFILE_EVENTS_IN_INSERT, SERVER_QUERY_TIME_IN_PROGRESS,
    TOTAL_BYTES_IN_PROGRESS,
};
use crate::frame::Method;
use crate::write::{put_text, put_varint};

pub(super) const DATA: u64 = 1;
pub(super) const EXCEPTION: u64 = 2;
pub(super) const PROGRESS: u64 = 3;
pub(super) const PONG: u64 = 4;
pub(super) const END_OF_STREAM: u64 = 5;
pub(super) const PROFILE_INFO: u64 = 6;
pub(super) const TOTALS: u64 = 7;
pub(super) const EXTREMES: u64 = 8;
const TABLES_STATUS: u64 = 9;
pub(super) const LOG: u64 = 10;
pub(super) const TABLE_COLUMNS: u64 = 11;
pub(super) const PROFILE_EVENTS: u64 = 14;
pub(super) const TIMEZONE_UPDATE: u64 = 17;

/// The host that counters come from.
const SERVER: &str = "basalt";

/// The progress since the packet before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgressIncrement {
    pub read_rows: u64,
    pub read_bytes: u64,
    pub total_rows_to_read: u64,
    pub written_rows: u64,
    pub written_bytes: u64,
    pub elapsed_ns: u64,
}

/// The size of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfileInfo {
    pub rows: u64,
    pub blocks: u64,
    pub bytes: u64,
    /// Rows before LIMIT, if there is a LIMIT.
    pub rows_before_limit: Option<u64>,
}

/// Writes packets for a client of one revision.
#[derive(Clone, Copy, Debug)]
pub struct PacketWriter {
    revision: u64,
    blocks: BlockPackets,
}

impl PacketWriter {
    /// Blocks are in frames of the method `compression`, if there is one.
    pub fn new(revision: u64, compression: Option<Method>) -> PacketWriter {
        PacketWriter { revision, blocks: BlockPackets { revision, compression } }
    }

    /// The rows of a result.
    pub fn data(&self, columns: &Columns, rows: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.blocks.put(DATA, columns, rows, out)
    }

    /// The row of WITH TOTALS.
    pub fn totals(&self, columns: &Columns, rows: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.blocks.put(TOTALS, columns, rows, out)
    }

    /// The rows of the smallest and the largest values.
    pub fn extremes(&self, columns: &Columns, rows: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.blocks.put(EXTREMES, columns, rows, out)
    }

    /// The columns of a result or of a table, without rows.
    pub fn header(&self, columns: &Columns, out: &mut Vec<u8>) -> Result<()> {
        self.blocks.put_header(DATA, columns, out)
    }

    /// The block without columns that ends the rows of a result.
    pub fn end_of_data(&self, out: &mut Vec<u8>) -> Result<()> {
        self.header(&Columns::new(Vec::new()), out)
    }

    /// Counters of the query since the packet before; a block that is never compressed.
    pub fn profile_events(&self, events: &[(&str, u64)], out: &mut Vec<u8>) -> Result<()> {
        if self.revision < PROFILE_EVENTS_OF_QUERIES {
            return Ok(());
        }
        let (columns, rows) = profile_events::block(SERVER, events)?;
        BlockPackets { compression: None, ..self.blocks }.put(PROFILE_EVENTS, &columns, &rows, out)
    }

    /// Counters after a block of an INSERT, which the client waits for.
    pub fn insert_events(&self, rows: u64, out: &mut Vec<u8>) -> Result<()> {
        if self.revision < PROFILE_EVENTS_IN_INSERT {
            return Ok(());
        }
        self.profile_events(&[("InsertedRows", rows)], out)
    }

    /// The columns of a table with their defaults, before the rows of an INSERT.
    pub fn table_columns(&self, columns: &Columns, out: &mut Vec<u8>) {
        put_head(TABLE_COLUMNS, out);
        let mut text = format!("columns format version: 1\n{} columns:\n", columns.len());
        for column in columns.iter() {
            text.push_str(&format!("{} {}\n", basalt_base::types::quote_identifier(&column.name), column.ty));
        }
        put_text(out, &text);
    }

    pub fn progress(&self, progress: &ProgressIncrement, out: &mut Vec<u8>) {
        put_varint(out, PROGRESS);
        put_varint(out, progress.read_rows);
        put_varint(out, progress.read_bytes);
        put_varint(out, progress.total_rows_to_read);
        if self.revision >= TOTAL_BYTES_IN_PROGRESS {
            put_varint(out, 0);
        }
        put_varint(out, progress.written_rows);
        put_varint(out, progress.written_bytes);
        if self.revision >= SERVER_QUERY_TIME_IN_PROGRESS {
            put_varint(out, progress.elapsed_ns);
        }
    }

    pub fn profile_info(&self, info: &ProfileInfo, out: &mut Vec<u8>) {
        put_varint(out, PROFILE_INFO);
        put_varint(out, info.rows);
        put_varint(out, info.blocks);
        put_varint(out, info.bytes);
        out.push(u8::from(info.rows_before_limit.is_some()));
        put_varint(out, info.rows_before_limit.unwrap_or(0));
        out.push(1);
    }

    pub fn exception(&self, error: &Error, out: &mut Vec<u8>) {
        put_varint(out, EXCEPTION);
        out.extend_from_slice(&u32::from(error.code().number()).to_le_bytes());
        put_text(out, "DB::Exception");
        put_text(out, &format!("DB::Exception: {} ({})", error.message(), error.code().name()));
        put_text(out, "");
        out.push(0);
    }

    pub fn pong(&self, out: &mut Vec<u8>) {
        put_varint(out, PONG);
    }

    pub fn end_of_stream(&self, out: &mut Vec<u8>) {
        put_varint(out, END_OF_STREAM);
    }

    /// Which of the tables that a client asked for there are; none is replicated.
    pub fn tables_status(&self, tables: &[(String, String)], out: &mut Vec<u8>) {
        put_varint(out, TABLES_STATUS);
        put_varint(out, tables.len() as u64);
        for (database, table) in tables {
            put_text(out, database);
            put_text(out, table);
            out.push(0);
        }
    }
}
