//! The protocol of Redis: commands of a client, and replies of a server in its versions 2 and 3.
//!
//! - `command`: a command out of the bytes that have arrived.
//! - `reply`: replies, appended to a buffer.

mod command;
mod reply;

pub use command::{CommandReader, Decoded, Limits, ProtocolError};
pub use reply::{ReplyWriter, Version};
