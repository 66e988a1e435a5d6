//! ClickHouse's native protocol, version by version: packets of the client and of the server.
//!
//! - `revision`: the numbers of protocol versions, and what each added.
//! - `hello`: the greeting of both sides, and the addendum.
//! - `query`: a statement with its settings, parameters and client information.
//! - `client_packet`: all other packets of a client.
//! - `data`: the blocks that a client sends, on a thread that may block.
//! - `server_packet`: the packets of a server; `result_writer`: a result set as packets.

mod client_packet;
mod data;
mod hello;
mod profile_events;
mod query;
mod result_writer;
mod revision;
mod server_packet;

pub use client_packet::{ClientPacket, EndOfData, read_end_of_data};
pub use data::{DataBlock, DataReader, DataState};
pub use hello::{ClientHello, ServerHello, read_addendum};
pub use query::{ClientInfo, Query, Setting, Stage};
pub use result_writer::ResultWriter;
pub use revision::{ADDENDUM as ADDENDUM_REVISION, OLDEST_REVISION, REVISION, negotiated};
pub use server_packet::{PacketWriter, ProfileInfo, ProgressIncrement};
