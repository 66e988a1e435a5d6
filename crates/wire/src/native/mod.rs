//! ClickHouse's native protocol, version by version: packets of the client and of the server.
//!
//! - `revision`: the numbers of protocol versions, and what each added.
//! - `hello`: the greeting of both sides, and the addendum.
//! - `query`: a statement with its settings, parameters and client information.
//! - `blocks`: packets with a block, of either side.
//! - `client_packet`: all other packets of a client; `client_writer`: those that our client sends.
//! - `data`: the blocks that a client sends, on a thread that may block.
//! - `server_packet`: the packets of a server; `result_writer`: a result set as packets.
//! - `server_reader`: the packets of a server as a client reads them; `exception`: one of them.

mod blocks;
mod client_packet;
mod client_writer;
mod data;
mod exception;
mod hello;
mod profile_events;
mod query;
mod result_writer;
mod revision;
mod server_packet;
mod server_reader;

pub use blocks::DataBlock;
pub use client_packet::{ClientPacket, EndOfData, read_end_of_data};
pub use client_writer::ClientWriter;
pub use data::{DataReader, DataState};
pub use hello::{ClientHello, ServerHello, read_addendum, write_addendum};
pub use query::{ClientInfo, Query, Setting, Stage};
pub use result_writer::ResultWriter;
pub use revision::{ADDENDUM as ADDENDUM_REVISION, OLDEST_REVISION, REVISION, negotiated};
pub use server_packet::{PacketWriter, ProfileInfo, ProgressIncrement};
pub use server_reader::{ServerPacket, ServerReader};
