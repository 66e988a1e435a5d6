//! A statement of a client: its settings, its parameters, and what the client says about itself.

use std::io::Read;

use basalt_formats::text::{unquote, write_quoted};

use super::revision::{
    DISTRIBUTED_DEPTH, FORWARDED_FOR, INITIAL_QUERY_START_TIME, INTERSERVER_SECRET, OPENTELEMETRY,
    PARALLEL_REPLICAS, PARAMETERS, REFERER,
};
use crate::read::{ReadPrimitives, ReadResult, malformed};
use crate::write::{put_bytes, put_text, put_varint};

/// Names, ids and other short texts.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A statement and the values of its settings and parameters.
const STATEMENT_BYTES_MAX: usize = 64 << 20;

/// Settings and parameters of a statement.
const SETTINGS_MAX: usize = 10_000;

const TRACE_ID_BYTES: usize = 16;

const TCP: u8 = 1;
const HTTP: u8 = 2;

/// How far a statement is to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Only as far as to know the columns.
    FetchColumns,
    /// The states of aggregate functions, for a server that merges those of several.
    WithMergeableState,
    Complete,
    /// A later stage of a distributed query.
    Other(u64),
}

impl Stage {
    const fn number(self) -> u64 {
        match self {
            Stage::FetchColumns => 0,
            Stage::WithMergeableState => 1,
            Stage::Complete => 2,
            Stage::Other(number) => number,
        }
    }

    const fn new(number: u64) -> Stage {
        match number {
            0 => Stage::FetchColumns,
            1 => Stage::WithMergeableState,
            2 => Stage::Complete,
            other => Stage::Other(other),
        }
    }
}

/// A setting or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    /// A server that does not know the setting must refuse the statement.
    pub is_important: bool,
    pub value: String,
}

const IMPORTANT: u64 = 1;
const CUSTOM: u64 = 2;

/// What a client says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// Empty if the user connected directly.
    pub initial_user: String,
    pub initial_query_id: String,
    pub quota_key: String,
    pub client_name: String,
    pub version: (u64, u64, u64),
}

/// The packet `Query`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Empty if the server is to choose it.
    pub id: String,
    pub client: ClientInfo,
    pub settings: Vec<Setting>,
    pub stage: Stage,
    /// Whether blocks are compressed, in both directions.
    pub is_compressed: bool,
    pub text: Vec<u8>,
    /// Names and texts of values.
    pub parameters: Vec<(String, String)>,
}

impl Query {
    /// Reads the packet after its type.
    pub(super) fn read(input: &mut impl Read, revision: u64) -> ReadResult<Query> {
        let id = input.text(TEXT_BYTES_MAX, "the query id")?;
        let client = ClientInfo::read(input, revision)?;
        let settings = read_settings(input, "a setting")?;
        if revision >= INTERSERVER_SECRET {
            input.prefixed(TEXT_BYTES_MAX, "the secret between servers")?;
        }
        let stage = Stage::new(input.varint()?);
        let is_compressed = input.varint()? != 0;
        let text = input.prefixed(STATEMENT_BYTES_MAX, "the statement")?;
        let parameters =
            if revision >= PARAMETERS { read_settings(input, "a parameter")? } else { Vec::new() };
        let parameters = parameters.into_iter().map(parameter).collect::<ReadResult<_>>()?;
        Ok(Query { id, client, settings, stage, is_compressed, text, parameters })
    }

    /// Appends the packet for a server of `revision`.
    pub fn write(&self, revision: u64, out: &mut Vec<u8>) {
        put_varint(out, super::client_packet::QUERY);
        put_text(out, &self.id);
        self.client.write(revision, out);
        write_settings(&self.settings, out);
        if revision >= INTERSERVER_SECRET {
            put_bytes(out, b"");
        }
        put_varint(out, self.stage.number());
        put_varint(out, u64::from(self.is_compressed));
        put_bytes(out, &self.text);
        if revision >= PARAMETERS {
            write_parameters(&self.parameters, out);
        }
    }
}

impl ClientInfo {
    fn read(input: &mut impl Read, revision: u64) -> ReadResult<ClientInfo> {
        let mut client = ClientInfo::default();
        if input.byte()? == 0 {
            return Ok(client);
        }
        client.initial_user = input.text(TEXT_BYTES_MAX, "the initial user")?;
        client.initial_query_id = input.text(TEXT_BYTES_MAX, "the initial query id")?;
        input.prefixed(TEXT_BYTES_MAX, "the initial address")?;
        if revision >= INITIAL_QUERY_START_TIME {
            input.number64()?;
        }
        let interface = input.byte()?;
        match interface {
            TCP => client.read_tcp(input)?,
            HTTP => read_http(input, revision)?,
            _ => {}
        }
        client.quota_key = input.text(TEXT_BYTES_MAX, "the quota key")?;
        if revision >= DISTRIBUTED_DEPTH {
            input.varint()?;
        }
        if interface == TCP {
            client.version.2 = input.varint()?;
        }
        if revision >= OPENTELEMETRY && input.byte()? != 0 {
            input.array::<TRACE_ID_BYTES>()?;
            input.number64()?;
            input.prefixed(TEXT_BYTES_MAX, "the state of a trace")?;
            input.byte()?;
        }
        if revision >= PARALLEL_REPLICAS {
            for _ in 0..3 {
                input.varint()?;
            }
        }
        Ok(client)
    }

    fn read_tcp(&mut self, input: &mut impl Read) -> ReadResult<()> {
        input.prefixed(TEXT_BYTES_MAX, "the user of the operating system")?;
        input.prefixed(TEXT_BYTES_MAX, "the client's host")?;
        self.client_name = input.text(TEXT_BYTES_MAX, "the client's name")?;
        self.version = (input.varint()?, input.varint()?, 0);
        input.varint()?;
        Ok(())
    }

    fn write(&self, revision: u64, out: &mut Vec<u8>) {
        let is_initial = self.initial_user.is_empty();
        out.push(if is_initial { 1 } else { 2 });
        put_text(out, &self.initial_user);
        put_text(out, &self.initial_query_id);
        put_text(out, "0.0.0.0:0");
        if revision >= INITIAL_QUERY_START_TIME {
            out.extend_from_slice(&[0; 8]);
        }
        out.push(TCP);
        put_text(out, "");
        put_text(out, "");
        put_text(out, &self.client_name);
        put_varint(out, self.version.0);
        put_varint(out, self.version.1);
        put_varint(out, revision);
        put_text(out, &self.quota_key);
        if revision >= DISTRIBUTED_DEPTH {
            put_varint(out, 0);
        }
        put_varint(out, self.version.2);
        if revision >= OPENTELEMETRY {
            out.push(0);
        }
        if revision >= PARALLEL_REPLICAS {
            out.extend_from_slice(&[0; 3]);
        }
    }
}

fn read_http(input: &mut impl Read, revision: u64) -> ReadResult<()> {
    input.byte()?;
    input.prefixed(TEXT_BYTES_MAX, "the user agent")?;
    if revision >= FORWARDED_FOR {
        input.prefixed(TEXT_BYTES_MAX, "the forwarded address")?;
    }
    if revision >= REFERER {
        input.prefixed(TEXT_BYTES_MAX, "the referer")?;
    }
    Ok(())
}

fn read_settings(input: &mut impl Read, what: &str) -> ReadResult<Vec<Setting>> {
    let mut settings = Vec::new();
    loop {
        let name = input.text(TEXT_BYTES_MAX, what)?;
        if name.is_empty() {
            return Ok(settings);
        }
        if settings.len() == SETTINGS_MAX {
            return Err(malformed(format!("a statement has more than {SETTINGS_MAX} settings")));
        }
        let is_important = input.varint()? & IMPORTANT != 0;
        let value = input.text(STATEMENT_BYTES_MAX, what)?;
        settings.push(Setting { name, is_important, value });
    }
}

/// A parameter's value is a string literal; a client of an old version sends the text alone.
fn parameter(setting: Setting) -> ReadResult<(String, String)> {
    let Setting { name, value, .. } = setting;
    if !value.starts_with('\'') {
        return Ok((name, value));
    }
    let mut text = Vec::new();
    let length = unquote(value.as_bytes(), &mut text)?;
    match String::from_utf8(text) {
        Ok(text) if length == value.len() => Ok((name, text)),
        _ => Err(malformed(format!("the value of parameter `{name}` is not a string literal in UTF-8"))),
    }
}

fn write_settings(settings: &[Setting], out: &mut Vec<u8>) {
    for setting in settings {
        put_text(out, &setting.name);
        put_varint(out, if setting.is_important { IMPORTANT } else { 0 });
        put_text(out, &setting.value);
    }
    put_text(out, "");
}

fn write_parameters(parameters: &[(String, String)], out: &mut Vec<u8>) {
    for (name, text) in parameters {
        put_text(out, name);
        put_varint(out, CUSTOM);
        let mut value = Vec::new();
        write_quoted(text.as_bytes(), &mut value);
        put_bytes(out, &value);
    }
    put_text(out, "");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadError;

    fn sample(revision: u64) -> Query {
        let setting =
            |name: &str, value: &str| Setting { name: name.into(), is_important: true, value: value.into() };
        Query {
            id: "q".into(),
            client: ClientInfo {
                initial_user: String::new(),
                initial_query_id: "q".into(),
                quota_key: "k".into(),
                client_name: "a client".into(),
                version: (26, 9, 3),
            },
            settings: vec![setting("max_threads", "2"), setting("extremes", "1")],
            stage: Stage::Complete,
            is_compressed: true,
            text: b"SELECT '\xff'".to_vec(),
            parameters: match revision >= PARAMETERS {
                true => vec![("x".into(), "it's \\ a\ttab".into())],
                false => Vec::new(),
            },
        }
    }

    #[test]
    fn a_query_is_read_as_it_was_written_for_every_revision() {
        for revision in [54_429, 54_441, 54_442, 54_448, 54_449, 54_453, 54_459, 54_468] {
            let mut bytes = Vec::new();
            sample(revision).write(revision, &mut bytes);
            let read = Query::read(&mut &bytes[1..], revision).expect("whole");
            assert_eq!(read, sample(revision), "{revision}");
            for length in 1..bytes.len() {
                let result = Query::read(&mut &bytes[1..length], revision);
                assert!(matches!(result, Err(ReadError::Incomplete(_))), "{revision}: {length} bytes");
            }
        }
    }
}
