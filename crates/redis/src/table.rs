//! The columns of a database's table, and the bytes of its keys and rows.
//!
//! ```sql
//! CREATE TABLE redis.db0 (
//!     key String, part Enum8('key' = 0, 'field' = 1, 'member' = 2, 'item' = 3, 'score' = 4), name String,
//!     type Enum8('string' = 1, 'list' = 2, 'set' = 3, 'zset' = 4, 'hash' = 5),
//!     value String, expires_at DateTime64(3, 'UTC'), score Float64, PRIMARY KEY (key, part, name))
//! ENGINE = EmbeddedRocksDB
//! ```
//!
//! Each key has a row with the part `key` and no name. Its value is the string; for a collection it is the number of
//! elements, and for a list also the position of the first one. The elements are rows of the same key:
//!
//! ```text
//! hash    field    name: the field                          value: its value
//! set     member   name: the member
//! zset    member   name: the member                         score: its score
//!         score    name: the score in order, the member     score: its score, value: the member
//! list    item     name: its position, 16 hex digits        value: the item
//! ```
//!
//! Only the first row has a time in `expires_at`; 0 means never.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::sync::Arc;

use basalt_base::{Column, Columns, Error, ErrorCode, Result, SqlType};
use basalt_kv::{ByteRange, KvSpec};

/// The version of the encoding of rows, the number of their columns, and no NULL.
const ROW_START: [u8; 3] = [1, 4, 0];
/// The number of a part as a key has it: its sign bit is flipped.
const SIGN: u8 = 0x80;
const SIGN_64: u64 = 1 << 63;

/// What a row is in its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Key = 0,
    Field = 1,
    Member = 2,
    Item = 3,
    Score = 4,
}

/// The type of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String = 1,
    List = 2,
    Set = 3,
    Zset = 4,
    Hash = 5,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::String, Kind::List, Kind::Set, Kind::Zset, Kind::Hash];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::Zset => "zset",
            Kind::Hash => "hash",
        }
    }
}

/// The columns of the table and its key.
pub fn spec() -> Result<KvSpec> {
    let parts = [("key", 0), ("field", 1), ("member", 2), ("item", 3), ("score", 4)];
    let parts = parts.map(|(name, number)| (name.to_owned(), number));
    let kinds = Kind::ALL.map(|kind| (kind.name().to_owned(), kind as i8));
    let time = SqlType::DateTime64 { precision: 3, zone: Some(Arc::from("UTC")) };
    let columns = vec![
        Column::new("key", SqlType::String),
        Column::new("part", SqlType::Enum8(Arc::from(parts))),
        Column::new("name", SqlType::String),
        Column::new("type", SqlType::Enum8(Arc::from(kinds))),
        Column::new("value", SqlType::String),
        Column::new("expires_at", time),
        Column::new("score", SqlType::Float64),
    ];
    KvSpec::new(Columns::new(columns), vec![0, 1, 2])
}

/// The encoded keys of a key's rows begin with these bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place(Vec<u8>);

impl Place {
    pub(crate) fn of(key: &[u8]) -> Place {
        let mut bytes = Vec::with_capacity(key.len() + 3);
        for &byte in key {
            bytes.push(byte);
            if byte == 0 {
                bytes.push(0xff);
            }
        }
        bytes.extend_from_slice(&[0, 0, SIGN]);
        Place(bytes)
    }

    /// The row with the part `key`.
    pub(crate) fn head(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn element(&self, part: Part, name: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() + name.len());
        bytes.extend_from_slice(&self.0[..self.0.len() - 1]);
        bytes.push(SIGN | part as u8);
        bytes.extend_from_slice(name);
        bytes
    }

    /// The rows of a part.
    pub(crate) fn part(&self, part: Part) -> ByteRange {
        ByteRange { lower: self.element(part, b""), upper: Some(self.after(part)) }
    }

    /// The end of the rows of a part.
    pub(crate) fn after(&self, part: Part) -> Vec<u8> {
        let mut bytes = self.0[..self.0.len() - 1].to_vec();
        bytes.push((SIGN | part as u8) + 1);
        bytes
    }

    /// All rows of the key.
    pub(crate) fn all(&self) -> ByteRange {
        ByteRange { lower: self.0.clone(), upper: Some(self.after(Part::Score)) }
    }

    /// The name of an element from its encoded key.
    pub(crate) fn name<'k>(&self, encoded: &'k [u8]) -> &'k [u8] {
        encoded.get(self.0.len()..).unwrap_or_default()
    }
}

/// The key of an encoded key, its part, and how many bytes they have.
pub(crate) fn decode_key(encoded: &[u8]) -> Option<(Vec<u8>, u8, usize)> {
    let mut key = Vec::with_capacity(encoded.len());
    let mut at = 0;
    loop {
        match encoded.get(at..)? {
            [0, 0xff, ..] => {
                key.push(0);
                at += 2;
            }
            [0, 0, part, ..] => return Some((key, part ^ SIGN, at + 3)),
            [byte, ..] if *byte != 0 => {
                key.push(*byte);
                at += 1;
            }
            _ => return None,
        }
    }
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record<'a> {
    pub(crate) kind: Kind,
    pub(crate) value: &'a [u8],
    pub(crate) expires_at: u64,
    pub(crate) score: f64,
}

impl Record<'_> {
    pub(crate) fn of(kind: Kind, value: &[u8]) -> Record<'_> {
        Record { kind, value, expires_at: 0, score: 0.0 }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut row = Vec::with_capacity(self.value.len() + 32);
        row.extend_from_slice(&ROW_START);
        row.push(self.kind as u8);
        let mut length = self.value.len() as u64;
        while length >= 0x80 {
            row.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        row.push((length & 0x7f) as u8);
        row.extend_from_slice(self.value);
        row.extend_from_slice(&self.expires_at.to_le_bytes());
        row.extend_from_slice(&self.score.to_le_bytes());
        row
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Record<'_>> {
        read(row).ok_or_else(|| {
            Error::new(ErrorCode::CorruptedData, "a row of a database of Redis has other columns")
        })
    }

    pub(crate) fn is_expired(&self, now: u64) -> bool {
        self.expires_at != 0 && self.expires_at <= now
    }
}

fn read(row: &[u8]) -> Option<Record<'_>> {
    let rest = row.strip_prefix(&ROW_START)?;
    let (&kind, mut rest) = rest.split_first()?;
    let kind = Kind::ALL.into_iter().find(|&known| known as u8 == kind)?;
    let mut length = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        length |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    let (expires_at, rest) = rest.split_first_chunk()?;
    let score = f64::from_le_bytes(rest.try_into().ok()?);
    // SQL may write a time before 1970: it is over.
    let expires_at = u64::try_from(i64::from_le_bytes(*expires_at)).unwrap_or(1);
    Some(Record { kind, value, expires_at, score })
}

/// The bytes of a score in the order of scores, NaN excepted.
pub(crate) fn score_bytes(score: f64) -> [u8; 8] {
    let bits = if score == 0.0 { 0 } else { score.to_bits() };
    if bits & SIGN_64 == 0 { bits | SIGN_64 } else { !bits }.to_be_bytes()
}

/// The name of the item at a position of a list.
pub(crate) fn item_name(position: u64) -> [u8; 16] {
    let mut name = [0; 16];
    for (digit, byte) in name.iter_mut().rev().enumerate() {
        let value = ((position >> (4 * digit)) & 0xf) as u8;
        *byte = if value < 10 { b'0' + value } else { b'a' + value - 10 };
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_rows_come_back_and_damaged_rows_are_refused() {
        for key in [b"".as_slice(), b"a", b"a\0b\0", b"\xff\0\xff"] {
            let place = Place::of(key);
            assert_eq!(decode_key(place.head()), Some((key.to_vec(), 0, place.head().len())));
            let field = place.element(Part::Field, b"name");
            assert_eq!(decode_key(&field), Some((key.to_vec(), 1, place.head().len())));
            assert_eq!(place.name(&field), b"name");
        }
        let long = vec![b'x'; 300];
        let record = Record { kind: Kind::Zset, value: &long, expires_at: 77, score: -1.5 };
        let row = record.encode();
        assert_eq!(Record::decode(&row).expect("own bytes"), record);
        (0..row.len()).for_each(|length| assert!(Record::decode(&row[..length]).is_err()));
        for bit in 0..row.len() * 8 {
            let mut flipped = row.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = Record::decode(&flipped);
        }
    }

    #[test]
    fn names_have_the_order_of_scores_and_positions() {
        let scores = [f64::NEG_INFINITY, -2.0, -0.5, 0.0, 0.5, 2.0, f64::INFINITY];
        assert!(scores.windows(2).all(|pair| score_bytes(pair[0]) < score_bytes(pair[1])));
        assert_eq!(score_bytes(-0.0), score_bytes(0.0));
        assert!(item_name(9) < item_name(10) && item_name(u64::MAX) > item_name(1 << 63));
        assert_eq!(&item_name(0x8000_0000_0000_000a), b"800000000000000a");
    }
}
