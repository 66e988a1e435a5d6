//! The connections of all listeners, with limits on their number and on the time they may make the server wait.
//!
//! - `accept`: the accept loop of a listener, and the trait of a protocol.
//! - `slots`: the bounded number of connections.
//! - `activity`: whether the server works for a connection or waits for its client.
//! - `socket`: a socket whose peer must accept what is sent to it; `stream`: one with TLS or without.
//! - `entrance`: the handshake of TLS; `peer`: who the client is.
//! - `channel`: a stream with the messages that are read from it and written to it.

mod accept;
mod activity;
mod channel;
mod entrance;
mod peer;
mod slots;
mod socket;
mod stream;

pub(crate) use self::accept::{Connection, Protocol, serve};
pub(crate) use self::activity::{ActiveRequest, Activity};
pub(crate) use self::channel::{Channel, broken_off};
pub(crate) use self::entrance::Entrance;
pub(crate) use self::peer::Peer;
pub(crate) use self::slots::{ConnectionLimits, Connections};
pub(crate) use self::socket::Socket;
