//! Any LAYOUT clause is accepted or refused; a loaded dictionary gives the same answers as an ordered map.
//!
//! The first byte chooses a layout, the second its shards, then come keys and values of two bytes each.
//! The same bytes as text are a layout's name and a parameter.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt16Array, UInt64Array};
use arrow::datatypes::UInt16Type;
use basalt_base::{Column, Columns, SqlType};
use basalt_dict::{Attribute, DictionarySpec, LayoutKind, LayoutParameter, LayoutSpec, build};

const DEFAULT: u16 = 7;

/// Rows of a block of the source.
const BLOCK_ROWS: usize = 32;

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    parse(bytes);
    load(bytes);
}

fn parse(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut words = text.split(',');
    let mut word = || words.next().unwrap_or_default();
    let (name, parameter, value) = (word(), word().to_owned(), word());
    let value = match value.parse() {
        Ok(number) => LayoutParameter::UInt(number),
        Err(_) => LayoutParameter::Float(value.parse().unwrap_or(f64::NAN)),
    };
    let _ = LayoutSpec::parse(name, &[(parameter, value)]);
}

fn load(bytes: &[u8]) {
    let [kind, shards, rows @ ..] = bytes else { return };
    let kind = LayoutKind::ALL[usize::from(*kind) % LayoutKind::ALL.len()];
    // The other layouts have keys that are not numbers, have several rows for a key, or load nothing.
    if !kind.takes_changes() {
        return;
    }
    let word = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
    let rows = rows.as_chunks::<4>().0.iter();
    let rows: Vec<(u64, u16)> = rows.map(|row| (u64::from(word(row)), word(&row[2..]))).collect();
    let model: BTreeMap<u64, u16> = rows.iter().copied().collect();
    let mut blocks = rows.chunks(BLOCK_ROWS).map(|block| {
        let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(block.iter().map(|row| row.0)));
        let values: ArrayRef = Arc::new(UInt16Array::from_iter_values(block.iter().map(|row| row.1)));
        Ok(vec![keys, values])
    });
    let dictionary = build(spec(kind, *shards), &mut blocks).expect("keys that every layout takes");
    let asked: Vec<u64> = (0..=u64::from(u16::MAX)).step_by(251).chain(model.keys().copied()).collect();
    let keys: ArrayRef = Arc::new(UInt64Array::from(asked.clone()));
    let (values, found) = dictionary.get(&[0], &[keys]).expect("keys of the right type");
    let values = values[0].as_primitive::<UInt16Type>();
    for (row, key) in asked.iter().enumerate() {
        let expected = model.get(key);
        assert_eq!(found.value(row), expected.is_some(), "{} {key}", kind.name());
        assert_eq!(values.value(row), *expected.unwrap_or(&DEFAULT), "{} {key}", kind.name());
    }
    assert_eq!(dictionary.stats().element_count, model.len() as u64, "{}", kind.name());
    let mut rows_visited = 0;
    let visited = dictionary.visit_columns(&[0], &mut |rows, _| {
        rows_visited += rows;
        Ok(())
    });
    visited.expect("a loaded dictionary");
    assert_eq!(rows_visited, model.len(), "{}", kind.name());
}

fn spec(kind: LayoutKind, shards: u8) -> DictionarySpec {
    let mut layout = LayoutSpec::new(kind);
    if kind != LayoutKind::Flat {
        layout.shards = 1 + u64::from(shards % 4);
    }
    let attribute = Attribute {
        name: "value".to_owned(),
        ty: SqlType::UInt16,
        default: Arc::new(UInt16Array::from(vec![DEFAULT])),
        hierarchical: false,
        injective: false,
    };
    let key_columns = Columns::new(vec![Column::new("key", SqlType::UInt64)]);
    DictionarySpec { key_columns, attributes: vec![attribute], layout, range: None }
}
