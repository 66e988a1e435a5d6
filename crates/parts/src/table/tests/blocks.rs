//! Several blocks in one INSERT make the same files as one block with all their rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt8Array};
use arrow::compute::concat_batches;
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use proptest::prelude::*;

use super::{DIR, files, open};
use crate::key::element::KeyElement;
use crate::mode::MergeMode;
use crate::sample::{self, Noise};
use crate::spec::PartSpec;
use crate::table::InsertOptions;

/// A key, and a column of every type.
fn spec(mode: MergeMode, has_partitions: bool, wide_bytes_min: u64) -> PartSpec {
    let others = sample::types().into_iter().enumerate().map(|(n, ty)| Column::new(format!("c{n}"), ty));
    let key = [Column::new("k", SqlType::UInt8), Column::new("p", SqlType::UInt8)];
    let columns: Vec<Column> = key.into_iter().chain(others).collect();
    PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        partition_key: if has_partitions { vec![KeyElement::column(1)] } else { Vec::new() },
        granule_rows: 4,
        wide_bytes_min,
        mode,
        ..PartSpec::new(Columns::new(columns))
    }
}

fn block(spec: &PartSpec, keys: &[u8], noise: &mut Noise) -> RecordBatch {
    let column = |column: &Column| -> ArrayRef {
        match column.name.as_str() {
            "k" => Arc::new(UInt8Array::from(keys.to_vec())),
            "p" => Arc::new(UInt8Array::from_iter_values(keys.iter().map(|key| key % 2))),
            _ => sample::array(&column.ty, keys.len(), noise),
        }
    };
    RecordBatch::try_new(spec.schema(), spec.columns.iter().map(column).collect()).unwrap()
}

/// The files of an INSERT of `blocks`, with their bytes.
fn written(spec: &PartSpec, blocks: Vec<RecordBatch>) -> Vec<(PathBuf, Vec<u8>)> {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let parts = open(&storage, spec.clone()).unwrap();
    parts.set_insert_threads(2);
    let mut insert = parts.begin_insert(InsertOptions::default()).unwrap();
    insert.write_blocks(blocks).unwrap();
    insert.commit().unwrap();
    let found = files(&storage, Path::new(DIR)).into_iter();
    found.map(|path| (path.clone(), storage.read(&path, u64::MAX).unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn several_blocks_make_the_files_of_one(
        keys in prop::collection::vec(prop::collection::vec(0..50_u8, 0..40), 1..5),
        is_sorted: bool,
        has_partitions: bool,
        replaces: bool,
        is_wide: bool,
    ) {
        let mode = if replaces {
            MergeMode::Replacing { version: None, is_deleted: None }
        } else {
            MergeMode::Ordinary
        };
        let spec = spec(mode, has_partitions, if is_wide { 0 } else { u64::MAX });
        let mut keys = keys;
        if is_sorted {
            let mut all: Vec<u8> = keys.concat();
            all.sort_unstable();
            let mut rest = all.as_slice();
            for block in &mut keys {
                let (first, after) = rest.split_at(block.len());
                *block = first.to_vec();
                rest = after;
            }
        }
        let mut noise = Noise(7);
        let blocks: Vec<RecordBatch> = keys.iter().map(|keys| block(&spec, keys, &mut noise)).collect();
        let one = concat_batches(&spec.schema(), &blocks).unwrap();
        let (found, expected) = (written(&spec, blocks), written(&spec, vec![one]));
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!(found == expected, "{} differs", found.0.display());
        }
    }
}
