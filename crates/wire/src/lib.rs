//! Messages of network protocols as bytes, and back. No sockets: a message is read from any `Read` and appended to a
//! buffer.
//!
//! - [`native`]: ClickHouse's native protocol, both sides.
//! - [`frame`]: compressed frames with a checksum, in the native protocol and in HTTP bodies with `decompress=1`.
//!
//! # Reading from a socket that does not block
//!
//! A slice is a `Read`, so a message can be tried on the bytes that have arrived. [`ReadError::Incomplete`] says that
//! more are needed; nothing is lost, because the slice of the caller has not moved.

pub mod frame;
pub mod native;
mod read;
mod write;

pub use read::{ReadError, ReadResult};
