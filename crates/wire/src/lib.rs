//! Messages of network protocols as bytes, and back. No sockets: a message is read from any `Read` and appended to a
//! buffer.
//!
//! - [`native`]: ClickHouse's native protocol: reads what clients send, writes what servers answer.
//! - [`postgres`]: the protocol of PostgreSQL: reads what clients send, writes what servers answer.
//! - [`resp`]: the protocol of Redis: reads what clients send, writes what servers answer.
//! - [`frame`]: compressed frames with a checksum, in the native protocol and in HTTP bodies with `decompress=1`.
//!
//! # Reading from a socket that does not block
//!
//! A slice is a `Read`, so the server tries to read a message from the bytes that have arrived. If that fails with
//! [`ReadError::Incomplete`], it tries again when more bytes are there.

pub mod frame;
pub mod native;
pub mod postgres;
mod read;
pub mod resp;
mod write;

pub use read::{ReadError, ReadResult};
