//! Any bytes are messages of the protocol of PostgreSQL or refused, and any bytes are a value of each type or refused.
//!
//! The first byte chooses a type. The rest is read as a first message, as messages, as a value of the type in both
//! formats, and as the binary data of a COPY.

use std::io::Read;

use basalt_wire::postgres::{BinaryCopy, ClientMessage, Format, Startup, oid, read_parameter};

/// Scalars, and an array of each kind of element.
const TYPES: [u32; 24] = [
    0,
    oid::BOOL,
    oid::BYTEA,
    oid::INT2,
    oid::INT4,
    oid::INT8,
    oid::FLOAT4,
    oid::FLOAT8,
    oid::NUMERIC,
    oid::TEXT,
    oid::DATE,
    oid::TIMESTAMP,
    oid::TIMESTAMPTZ,
    oid::UUID,
    oid::INET,
    oid::JSONB,
    oid::OID,
    1000,
    1001,
    1007,
    1009,
    1231,
    1185,
    2951,
];

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let mut first = rest;
    // A first message, or not.
    let _ = Startup::read(&mut first);
    let mut messages = rest;
    while let Ok(message) = ClientMessage::read(&mut messages) {
        if let ClientMessage::Bind(bind) = message {
            assert!(bind.values.len() <= rest.len(), "more values than bytes");
        }
    }
    let ty = TYPES[usize::from(*choice) % TYPES.len()];
    for format in [Format::Text, Format::Binary] {
        if let Ok(value) = read_parameter(ty, format, rest) {
            assert!(
                value.text.len() <= 100 * rest.len() + 1000,
                "{} bytes of {}",
                value.text.len(),
                rest.len()
            );
        }
    }
    let mut lines = Vec::new();
    let read = BinaryCopy::new(rest, vec![ty, oid::TEXT]).read_to_end(&mut lines);
    assert!(read.is_err() || lines.is_empty() || lines.ends_with(b"\n"));
}
