//! Sizes on disk compared with ClickHouse's for the same million values.
//!
//! Recorded from ClickHouse 26.9 (package `chdb`): `column_data_compressed_bytes` of one wide part.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array, UInt64Array};
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use basalt_codec::{CodecChain, CodecSpec};

use super::open;
use crate::spec::PartSpec;

const ROWS: u64 = 1_000_000;

fn compressed_bytes(ty: SqlType, chain: CodecChain, values: ArrayRef) -> u64 {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let columns = Columns::new(vec![Column::new("c", ty)]);
    let spec = PartSpec { codecs: vec![chain], ..PartSpec::new(columns) };
    let batch = RecordBatch::try_new(spec.schema(), vec![values]).unwrap();
    let parts = open(&storage, spec).unwrap();
    parts.insert(batch).unwrap();
    parts.snapshot()[0].compressed_bytes()
}

/// At most 3 % larger than ClickHouse, for each of the five chains.
fn check(name: &str, ty: SqlType, values: ArrayRef, clickhouse: [u64; 5]) {
    let link = |link| CodecChain::new(vec![link, CodecSpec::Lz4]);
    let chains = [
        CodecChain::from(CodecSpec::DoubleDelta { width: 0 }),
        link(CodecSpec::DoubleDelta { width: 0 }),
        link(CodecSpec::Delta { width: 0 }),
        CodecChain::default(),
        CodecChain::from(CodecSpec::Zstd { level: 1 }),
    ];
    for (chain, expected) in chains.into_iter().zip(clickhouse) {
        let shown = chain.to_string();
        let found = compressed_bytes(ty.clone(), chain, Arc::clone(&values));
        assert!(
            found as f64 <= expected as f64 * 1.03,
            "{name}, {shown}: {found} bytes, ClickHouse {expected}"
        );
    }
}

#[test]
fn time_series_are_as_small_as_clickhouse_has_them() {
    let steady = UInt32Array::from_iter_values((0..ROWS).map(|row| (1_600_000_000 + row) as u32));
    check("steady", SqlType::UInt32, Arc::new(steady), [127_418, 4_829, 19_961, 4_017_298, 2_646_031]);
    let jitter = UInt64Array::from_iter_values(
        (0..ROWS).map(|row| 1_600_000_000_000 + row * 1000 + row * 2_654_435_761 % 97),
    );
    check("jitter", SqlType::UInt64, Arc::new(jitter), [470_923, 23_501, 43_305, 5_019_564, 2_053_829]);
    let late = |row: u64| if row.is_multiple_of(100) { row * 40_503 % 1000 } else { 0 };
    let outliers =
        UInt32Array::from_iter_values((0..ROWS).map(|row| (1_600_000_000 + row * 10 + late(row)) as u32));
    check("outliers", SqlType::UInt32, Arc::new(outliers), [175_550, 47_058, 25_619, 4_002_223, 2_897_192]);
}
