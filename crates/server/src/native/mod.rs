//! ClickHouse's native protocol over TCP.
//!
//! - `protocol`: the greeting, and one packet of a client after the other.
//! - `statement`: a statement from its packet to the end of its answer.
//! - `answer`: the statement on the threads of queries.
//! - `conversation`: what goes over the socket meanwhile.
//! - `external`: blocks that come beside the rows of an INSERT.
//! - `pipe`: bytes of a client's data, on their way to a thread that blocks.
//! - `upload`: the rows of an INSERT out of such a pipe.

mod answer;
mod conversation;
mod external;
mod pipe;
mod protocol;
mod statement;
mod upload;

pub(crate) use self::protocol::Native;
