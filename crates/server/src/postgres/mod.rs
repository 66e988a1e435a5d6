//! The protocol of PostgreSQL.
//!
//! - `protocol`: a connection from its first message to its end.
//! - `encryption`: TLS, if the client wants it.
//! - `login`: the first messages, and the session that they open.
//! - `password`: the password of a client, as text or by SCRAM-SHA-256.
//! - `client`: what is kept of a client between its messages.
//! - `messages`: one message after the other: simple statements, and the steps of the extended protocol.
//! - `script`: the statements of one simple message.
//! - `prepared`: a statement with a name; `describe`: the types of its parameters; `binding`: their values.
//! - `portal`: a statement with its values, and its rows as far as they were sent.
//! - `execution`: statements that the engine runs.
//! - `command`: statements that a session answers itself, and `answer`: its answers.
//! - `transaction`: what BEGIN and COMMIT mean.
//! - `copy_in`, `copy_out`, `copy_pipe`: COPY from and to the client.
//! - `work`: what goes over the socket while the engine works.
//! - `cancels`: how another connection ends a statement.
//! - `variables`: SET and SHOW.
//! - `failure`: errors with their SQLSTATE.

mod answer;
mod binding;
mod cancels;
mod client;
mod command;
mod copy_in;
mod copy_out;
mod copy_pipe;
mod describe;
mod encryption;
mod execution;
mod failure;
mod login;
mod messages;
mod password;
mod portal;
mod prepared;
mod protocol;
mod script;
mod transaction;
mod variables;
mod work;

pub(crate) use self::protocol::Postgres;
