//! One metadata file as text: the statement of an object, and the history of its column names.
//!
//! # Layout
//!
//! ```text
//! metadata/<database>/<name>.sql  one file an object:
//!   -- basalt metadata 1
//!   -- uuid 6f1c0a4e-...
//!   -- crc32c 1a2b3c4d            of everything after this line
//!   -- column renamed a b         what happened to the names of columns, in order; only in a table's file
//!   -- column dropped c
//!   -- detached                 nobody is to open it: DETACH .. PERMANENTLY
//!   CREATE TABLE ...
//! ```

use basalt_base::checksum::crc32c;
use basalt_base::{Error, ErrorCode, Result};
use basalt_parts::{ColumnHistory, NameChange};
use uuid::Uuid;

use crate::names::{decode_name, encode_name};

const FIRST_LINE: &str = "-- basalt metadata 1";
const UUID_LINE: &str = "-- uuid ";
const COLUMN_LINE: &str = "-- column ";
const DETACHED_LINE: &str = "-- detached\n";
/// A larger number of changes is invalid.
const CHANGES_MAX: u64 = u64::MAX / 2;

/// The contents of a metadata file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredObject {
    pub(crate) name: String,
    pub(crate) uuid: Uuid,
    pub(crate) statement: String,
    /// The earlier names of a table's columns.
    pub(crate) history: ColumnHistory,
    /// Detached for good: it is not opened at a start.
    pub(crate) is_detached: bool,
}

pub(super) fn encode(object: &StoredObject) -> Vec<u8> {
    let mut changes = match object.history.forgotten() {
        0 => String::new(),
        forgotten => format!("{COLUMN_LINE}forgotten {forgotten}\n"),
    };
    changes.extend(object.history.changes().iter().map(encode_change));
    let detached = if object.is_detached { DETACHED_LINE } else { "" };
    let body = format!("{changes}{detached}{}\n", object.statement);
    let crc = crc32c(body.as_bytes());
    format!("{FIRST_LINE}\n{UUID_LINE}{}\n-- crc32c {crc:08x}\n{body}", object.uuid).into_bytes()
}

pub(super) fn decode(name: String, bytes: &[u8]) -> Result<StoredObject> {
    let text = std::str::from_utf8(bytes).map_err(|_| corrupt("it is not UTF-8"))?;
    let mut lines = text.splitn(4, '\n');
    let mut next = || lines.next().unwrap_or_default();
    if next() != FIRST_LINE {
        return Err(corrupt(&format!("its first line is not `{FIRST_LINE}`")));
    }
    let uuid = next().strip_prefix(UUID_LINE).and_then(|uuid| Uuid::parse_str(uuid).ok());
    let crc = next().strip_prefix("-- crc32c ").and_then(|crc| u32::from_str_radix(crc, 16).ok());
    let (Some(uuid), Some(stored)) = (uuid, crc) else {
        return Err(corrupt("its uuid or checksum line is not one"));
    };
    let body = next();
    let computed = crc32c(body.as_bytes());
    if stored != computed {
        return Err(corrupt(&format!("its checksum is {stored:08x}, computed {computed:08x}")));
    }
    let mut statement = body.trim_end();
    let (mut forgotten, mut changes) = (0, Vec::new());
    while let Some((line, rest)) = statement.strip_prefix(COLUMN_LINE).and_then(|line| line.split_once('\n'))
    {
        match line.strip_prefix("forgotten ") {
            Some(count) if changes.is_empty() && forgotten == 0 => {
                let count = count.parse().ok().filter(|&count: &u64| count <= CHANGES_MAX);
                forgotten =
                    count.ok_or_else(|| corrupt(&format!("`{line}` is no count of changes of columns")))?;
            }
            _ => changes.push(decode_change(line)?),
        }
        statement = rest;
    }
    let history = ColumnHistory::new(forgotten, changes);
    let is_detached = statement.starts_with(DETACHED_LINE);
    let statement = statement.strip_prefix(DETACHED_LINE).unwrap_or(statement).to_owned();
    Ok(StoredObject { name, uuid, statement, history, is_detached })
}

/// The uuid in a file, whether the rest of it is valid or not.
pub(super) fn uuid_of(bytes: &[u8]) -> Option<Uuid> {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let line = std::str::from_utf8(lines.nth(1)?).ok()?;
    Uuid::parse_str(line.strip_prefix(UUID_LINE)?).ok()
}

fn encode_change(change: &NameChange) -> String {
    match change {
        NameChange::Renamed { from, to, texts } => {
            let texts: String = texts
                .iter()
                .map(|(old, new)| format!(" {} {}", encode_name(old), encode_name(new)))
                .collect();
            format!("{COLUMN_LINE}renamed {} {}{texts}\n", encode_name(from), encode_name(to))
        }
        NameChange::Dropped { name } => format!("{COLUMN_LINE}dropped {}\n", encode_name(name)),
    }
}

fn decode_change(line: &str) -> Result<NameChange> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["renamed", from, to, ref texts @ ..] if texts.len() % 2 == 0 => {
            let pair = |pair: &[&str]| Ok((decode_name(pair[0])?, decode_name(pair[1])?));
            let texts = texts.chunks_exact(2).map(pair).collect::<Result<_>>()?;
            Ok(NameChange::Renamed { from: decode_name(from)?, to: decode_name(to)?, texts })
        }
        ["dropped", name] => Ok(NameChange::Dropped { name: decode_name(name)? }),
        _ => Err(corrupt(&format!("`{line}` is no change of a column"))),
    }
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorCode::CorruptedData, format!("metadata file is corrupt, {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> StoredObject {
        StoredObject {
            name: "orders".to_owned(),
            uuid: Uuid::from_u128(7),
            statement: "CREATE TABLE orders (id UInt64) ENGINE = Memory".to_owned(),
            history: ColumnHistory::new(
                3,
                vec![
                    NameChange::Renamed {
                        from: "a b".to_owned(),
                        to: "-- column".to_owned(),
                        texts: vec![("lower(`a b`)".to_owned(), "lower(`-- column`)".to_owned())],
                    },
                    NameChange::Dropped { name: "c\nd".to_owned() },
                ],
            ),
            is_detached: true,
        }
    }

    #[test]
    fn file_round_trips() {
        let decoded = decode("orders".to_owned(), &encode(&object())).expect("our own bytes");
        assert_eq!(decoded, object());
        let attached = StoredObject { is_detached: false, ..object() };
        assert_eq!(decode("orders".to_owned(), &encode(&attached)).expect("our own bytes"), attached);
    }

    #[test]
    fn every_flipped_bit_is_refused_or_changes_nothing() {
        let bytes = encode(&object());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // The uuid and the checksum's letters are not under the checksum; the statement is.
            if let Ok(decoded) = decode("orders".to_owned(), &flipped) {
                assert_eq!((decoded.statement, decoded.is_detached), (object().statement, true), "bit {bit}");
            }
        }
    }
}
