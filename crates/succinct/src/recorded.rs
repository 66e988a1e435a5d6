//! The columns and settings of a table as its own database records them, so that the directory alone can be opened.
//!
//! The engine knows them from the statement that made the table, and records them when it opens the table. A program
//! without the engine reads the record, if it can use tables of such columns at all (`raw`).
//!
//! # Layout
//!
//! The record `columns` of the default family. Numbers are little-endian; a text is its length as u32 and its bytes, a
//! list its length as u32 and its elements.
//!
//! ```text
//! version          u8     1
//! segment_bytes    u64
//! segments_max     u64
//! dead_share_max   u64    the bits of a f64
//! columns          list   name text, type text, strings u8, has a default u8
//! key              list   u32: positions of columns
//! groups           list   name text, list of u32
//! indexes          list   name text, list of u32
//! trigrams         list   u32
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_segment::value::StringEncoding;

use crate::spec::{ColumnGroup, IndexSpec, TableSpec};

/// The name of the record.
pub(crate) const NAME: &[u8] = b"columns";
const VERSION: u8 = 1;
/// The encodings of strings by their numbers.
const STRINGS: [StringEncoding; 5] = [
    StringEncoding::Auto,
    StringEncoding::Plain,
    StringEncoding::Archive,
    StringEncoding::OnPair,
    StringEncoding::LongMatch,
];

/// What a record says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedTable {
    pub(crate) settings: RecordedSettings,
    pub(crate) columns: Vec<RecordedColumn>,
    pub(crate) key: Vec<usize>,
    pub(crate) groups: Vec<ColumnGroup>,
    pub(crate) indexes: Vec<IndexSpec>,
    pub(crate) trigrams: Vec<usize>,
}

/// The settings that decide when segments are built and merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RecordedSettings {
    pub(crate) segment_bytes: u64,
    pub(crate) segments_max: u64,
    pub(crate) dead_share_max: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedColumn {
    pub(crate) name: String,
    /// As SQL writes it.
    pub(crate) ty: String,
    pub(crate) strings: StringEncoding,
    /// Whether rows without the column read another value than the default of its type.
    pub(crate) has_default: bool,
}

impl RecordedTable {
    pub(crate) fn of(spec: &TableSpec, settings: RecordedSettings) -> RecordedTable {
        let rows = &spec.rows;
        let column = |(at, column): (usize, &basalt_base::Column)| RecordedColumn {
            name: column.name.to_string(),
            ty: column.ty.to_string(),
            strings: spec.strings[at],
            has_default: rows.computed[at].is_some() || rows.defaults[at] != column.ty.default_array(1),
        };
        RecordedTable {
            settings,
            columns: rows.columns.iter().enumerate().map(column).collect(),
            key: rows.key.clone(),
            groups: spec.groups.clone(),
            indexes: spec.indexes.clone(),
            trigrams: spec.trigrams.clone(),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        let RecordedSettings { segment_bytes, segments_max, dead_share_max } = self.settings;
        for number in [segment_bytes, segments_max, dead_share_max.to_bits()] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        push_length(self.columns.len(), &mut out);
        for column in &self.columns {
            push_text(&column.name, &mut out);
            push_text(&column.ty, &mut out);
            let strings = STRINGS.iter().position(|&known| known == column.strings);
            out.push(strings.and_then(|number| u8::try_from(number).ok()).unwrap_or(0));
            out.push(column.has_default.into());
        }
        push_positions(&self.key, &mut out);
        push_length(self.groups.len(), &mut out);
        for group in &self.groups {
            push_text(&group.name, &mut out);
            push_positions(&group.columns, &mut out);
        }
        push_length(self.indexes.len(), &mut out);
        for index in &self.indexes {
            push_text(&index.name, &mut out);
            push_positions(&index.columns, &mut out);
        }
        push_positions(&self.trigrams, &mut out);
        out
    }

    /// `None` for bytes that no version up to this one wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Option<RecordedTable> {
        let mut rest = Rest(bytes);
        if rest.byte()? != VERSION {
            return None;
        }
        let (segment_bytes, segments_max) = (rest.u64()?, rest.u64()?);
        let dead_share_max = f64::from_bits(rest.u64()?);
        let columns = rest.list(|rest| {
            let (name, ty) = (rest.text()?, rest.text()?);
            let strings = *STRINGS.get(usize::from(rest.byte()?))?;
            Some(RecordedColumn { name, ty, strings, has_default: rest.byte()? != 0 })
        })?;
        let known = |positions: &Vec<usize>| positions.iter().all(|&position| position < columns.len());
        let key = rest.positions()?;
        let groups =
            rest.list(|rest| Some(ColumnGroup { name: rest.text()?, columns: rest.positions()? }))?;
        let indexes = rest.list(|rest| Some(IndexSpec { name: rest.text()?, columns: rest.positions()? }))?;
        let trigrams = rest.positions()?;
        let are_known = known(&key)
            && known(&trigrams)
            && groups.iter().all(|group| known(&group.columns))
            && indexes.iter().all(|index| known(&index.columns));
        let is_valid = rest.0.is_empty() && are_known && (0.0..=1.0).contains(&dead_share_max);
        let settings = RecordedSettings { segment_bytes, segments_max, dead_share_max };
        is_valid.then_some(RecordedTable { settings, columns, key, groups, indexes, trigrams })
    }
}

/// A table has at most as many columns as fit into 32 bits, and no longer names.
fn push_length(length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    push_length(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

fn push_positions(positions: &[usize], out: &mut Vec<u8>) {
    push_length(positions.len(), out);
    positions.iter().for_each(|&position| push_length(position, out));
}

/// The bytes of a record that are not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take(&mut self, bytes: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(size_of::<u64>())?.try_into().ok()?))
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.take(size_of::<u32>())?.try_into().ok()?)).ok()
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    /// A list; each element takes bytes, so that a corrupt length ends with the record.
    fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.length()?;
        let mut list = Vec::new();
        for _ in 0..length {
            list.push(element(self)?);
        }
        Some(list)
    }

    fn positions(&mut self) -> Option<Vec<usize>> {
        self.list(Rest::length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::spec;

    fn recorded() -> RecordedTable {
        let settings = RecordedSettings { segment_bytes: 1 << 40, segments_max: 5, dead_share_max: 0.1 };
        RecordedTable::of(&spec(), settings)
    }

    #[test]
    fn record_comes_back() {
        let recorded = recorded();
        assert_eq!(RecordedTable::decode(&recorded.encode()), Some(recorded.clone()));
        assert_eq!(recorded.columns[2].ty, "Nullable(String)");
        assert_eq!((recorded.key, recorded.trigrams), (vec![3, 0], vec![2]));
    }

    #[test]
    fn every_bit_flip_and_truncation_is_survived() {
        let bytes = recorded().encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = RecordedTable::decode(&flipped);
        }
        for length in 0..bytes.len() {
            assert_eq!(RecordedTable::decode(&bytes[..length]), None);
        }
        assert_eq!(RecordedTable::decode(&[bytes, vec![0]].concat()), None);
    }
}
