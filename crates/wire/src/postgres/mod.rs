//! The protocol of PostgreSQL, version 3: messages of the client and of the server, and values as text and binary.
//!
//! - `startup`: the first message of a connection.
//! - `client_message`: all other messages of a client.
//! - `sasl`: the first message of a SASL exchange.
//! - `server_message`: the messages of a server.
//! - `oid`: the numbers of types.
//! - `value`: the values of a column; `numeric` and `array_text` are forms that both directions know.
//! - `parameter`: a value that a client sends, as the text of a literal.
//! - `row_writer`: a result set as messages; `copy_writer`: as the data of COPY TO.
//! - `binary_copy`, `array_copy`: data of COPY FROM as our formats have them.

mod array_copy;
mod array_text;
mod binary_copy;
mod client_message;
mod copy_writer;
mod numeric;
pub mod oid;
mod parameter;
mod row_writer;
mod sasl;
mod server_message;
mod startup;
mod value;

pub use array_copy::ArrayCopy;
pub use binary_copy::BinaryCopy;
pub use client_message::{Bind, ClientMessage, Parse, Target};
pub use copy_writer::{CopyForm, CopyOutWriter};
pub use parameter::{Parameter, parameter_type, read_parameter};
pub use row_writer::{ResultColumn, RowWriter, count_rows, rows_end};
pub use sasl::SaslResponse;
pub use server_message::{FieldDescription, MessageWriter, Severity, TransactionStatus};
pub use startup::Startup;

/// How a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text = 0,
    Binary = 1,
}

impl Format {
    /// The format of value `index`, by the rule of the protocol: no formats mean text, one is that of all values.
    pub fn of(formats: &[Format], index: usize) -> Format {
        match formats {
            [] => Format::Text,
            [all] => *all,
            several => several.get(index).copied().unwrap_or_default(),
        }
    }
}
