//! Measures layouts: bytes a key, million keys loaded a second, million keys looked up a second.
//!
//! `cargo run --release -p basalt-dict --example load_and_lookup -- 20000000`; a name after the number selects one
//! layout.
//!
//! Lookups run on one thread. The best of several loads and rounds counts, because other programs disturb it least.
//! The first load also waits for memory that the host has to find.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, BinaryViewArray, UInt16Array, UInt64Array};
use basalt_base::{Column, Columns, Result, SqlType};
use basalt_dict::{Attribute, Dictionary, DictionarySpec, LayoutKind, LayoutSpec, build};

const BLOCK_ROWS: u64 = 65_536;
const LOADS: usize = 3;
const ROUNDS: usize = 15;

fn main() -> Result<()> {
    let keys = std::env::args().nth(1).and_then(|keys| keys.parse().ok()).unwrap_or(2_000_000);
    let only = std::env::args().nth(2);
    let measure = |name: &str, layout: &LayoutSpec, keys: u64, values: Values| match &only {
        Some(only) if name != only => Ok(()),
        _ => measure(name, layout, keys, values),
    };
    let hashed = LayoutSpec::new(LayoutKind::Hashed);
    let sparse = LayoutSpec::new(LayoutKind::SparseHashed);
    let dense = LayoutSpec { max_load_factor: Some(0.98), ..sparse.clone() };
    let sharded = LayoutSpec { shards: 2, ..dense.clone() };
    let array = LayoutSpec::new(LayoutKind::HashedArray);
    measure("HASHED", &hashed, keys, Values::Ranks)?;
    measure(
        "SPARSE_HASHED(MAX_LOAD_FACTOR 0.75)",
        &LayoutSpec { max_load_factor: Some(0.75), ..sparse },
        keys,
        Values::Ranks,
    )?;
    measure("SPARSE_HASHED(MAX_LOAD_FACTOR 0.98)", &dense, keys, Values::Ranks)?;
    measure("SPARSE_HASHED(MAX_LOAD_FACTOR 0.98 SHARDS 2)", &sharded, keys, Values::Ranks)?;
    let compact = LayoutSpec::new(LayoutKind::CompactHashed);
    measure("COMPACT_HASHED", &compact, keys, Values::Ranks)?;
    measure("COMPACT_HASHED, ordinals", &compact, keys, Values::Ordinals)?;
    measure("COMPACT_HASHED, digits", &compact, keys, Values::Digits)?;
    measure("COMPACT_HASHED, addresses", &compact, keys, Values::Addresses)?;
    measure("HASHED, numbers", &hashed, keys, Values::Numbers)?;
    measure("SPARSE_HASHED(MAX_LOAD_FACTOR 0.98), numbers", &dense, keys, Values::Numbers)?;
    measure("COMPACT_HASHED, numbers", &compact, keys, Values::Numbers)?;
    measure("HASHED_ARRAY", &array, keys, Values::Ranks)?;
    measure("HASHED, ordinals", &hashed, keys, Values::Ordinals)?;
    measure("HASHED, digits", &hashed, keys, Values::Digits)?;
    measure("HASHED, addresses", &hashed, keys, Values::Addresses)
}

/// The values.
#[derive(Clone, Copy)]
enum Values {
    /// Numbers of two bytes.
    Ranks,
    /// Numbers of eight bytes.
    Numbers,
    /// The row's number as a string.
    Ordinals,
    /// Strings of 20 digits at random.
    Digits,
    /// Strings of about 60 characters that have much in common.
    Addresses,
}

fn measure(name: &str, layout: &LayoutSpec, keys: u64, values: Values) -> Result<()> {
    let ty = match values {
        Values::Ranks => SqlType::UInt16,
        Values::Numbers => SqlType::UInt64,
        Values::Ordinals | Values::Digits | Values::Addresses => SqlType::String,
    };
    let spec = DictionarySpec {
        key_columns: Columns::new(vec![Column::new("key", SqlType::UInt64)]),
        attributes: vec![Attribute {
            name: "value".into(),
            ty: ty.clone(),
            default: ty.default_array(1),
            hierarchical: false,
            injective: false,
        }],
        layout: layout.clone(),
        range: None,
    };
    let (mut dictionary, mut loading) = load(spec.clone(), keys, values)?;
    for _ in 1..LOADS {
        drop(dictionary);
        let (again, seconds) = load(spec.clone(), keys, values)?;
        (dictionary, loading) = (again, loading.min(seconds));
    }
    let stats = dictionary.stats();
    let (hits, misses) = (look_up(dictionary.as_ref(), keys, 0)?, look_up(dictionary.as_ref(), keys, keys)?);
    let line = format!(
        "{name:46} {:6.2} bytes/key  load {:6.1} M/s  hits {hits:6.1} M/s  misses {misses:6.1} M/s\n",
        stats.bytes_allocated as f64 / stats.element_count as f64,
        keys as f64 / loading / 1e6,
    );
    let _ = std::io::stdout().write_all(line.as_bytes());
    Ok(())
}

/// A dictionary, and the seconds of its load without the making of its blocks.
fn load(spec: DictionarySpec, keys: u64, values: Values) -> Result<(Arc<dyn Dictionary>, f64)> {
    let mut reading = 0.0;
    let mut blocks = (0..keys).step_by(BLOCK_ROWS as usize).map(|first| {
        let start = Instant::now();
        let block = block(first..keys.min(first + BLOCK_ROWS), values);
        reading += start.elapsed().as_secs_f64();
        Ok(block)
    });
    let start = Instant::now();
    let dictionary = build(spec, &mut blocks)?;
    Ok((dictionary, start.elapsed().as_secs_f64() - reading))
}

/// Keys spread over 64 bits, and values.
fn block(rows: std::ops::Range<u64>, values: Values) -> Vec<ArrayRef> {
    let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(rows.clone().map(spread)));
    let values: ArrayRef = match values {
        Values::Ranks => Arc::new(UInt16Array::from_iter_values(rows.map(|row| row as u16))),
        Values::Numbers => Arc::new(UInt64Array::from_iter_values(rows.map(|row| !spread(row)))),
        Values::Ordinals => Arc::new(BinaryViewArray::from_iter_values(rows.map(|row| row.to_string()))),
        Values::Digits => {
            Arc::new(BinaryViewArray::from_iter_values(rows.map(|row| spread(row).to_string())))
        }
        Values::Addresses => Arc::new(BinaryViewArray::from_iter_values(rows.map(address))),
    };
    vec![keys, values]
}

fn address(row: u64) -> String {
    let (shop, random) = (row % 97, spread(row));
    let path = ["catalog/item", "search/results", "account/orders"][(random >> 60) as usize % 3];
    format!("https://www.shop{shop}.example.com/{path}?id={}&page={}", random >> 40, random % 20)
}

/// Million lookups a second of random keys from `first` on.
fn look_up(dictionary: &dyn Dictionary, keys: u64, first: u64) -> Result<f64> {
    let blocks: Vec<ArrayRef> = (0..64_u64)
        .map(|block| {
            let random = |row: u64| {
                first + ((u128::from(spread(!(block * BLOCK_ROWS + row))) * u128::from(keys)) >> 64) as u64
            };
            Arc::new(UInt64Array::from_iter_values((0..BLOCK_ROWS).map(|row| spread(random(row)))))
                as ArrayRef
        })
        .collect();
    let mut best = 0.0_f64;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut looked_up = 0;
        for keys in &blocks {
            looked_up += dictionary.get(&[0], std::slice::from_ref(keys))?.0[0].len();
        }
        best = best.max(looked_up as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    Ok(best)
}

/// A bijection, so that keys stay distinct.
fn spread(number: u64) -> u64 {
    let mixed = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}
