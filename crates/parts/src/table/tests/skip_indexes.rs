//! Skip indexes skip granules, in parts that have them.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryViewArray, RecordBatch, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};

use super::open;
use crate::index::kind::IndexKind;
use crate::index::predicate::{Operand, Predicate, ValueTest};
use crate::index::skip_index::{Indexed, SkipIndex};
use crate::index::summary::FilterSize;
use crate::key::element::KeyElement;
use crate::key::expression::{KeyExpression, Monotonic};
use crate::key::prune::MarkRanges;
use crate::spec::PartSpec;
use crate::table::TableParts;

const WORDS: [&str; 12] = [
    "red fox", "blue sky", "red hat", "old oak", "fox", "oak", "sky", "hat", "new moon", "moon", "sea", "new",
];

fn spec(kind: IndexKind, granularity: u32, wide_bytes_min: u64) -> PartSpec {
    let columns = Columns::new(vec![Column::new("k", SqlType::UInt64), Column::new("s", SqlType::String)]);
    let index = SkipIndex {
        name: "i".to_owned(),
        elements: vec![Indexed::Column("s".to_owned())],
        kind,
        granularity,
    };
    PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 2,
        wide_bytes_min,
        indexes: vec![index],
        ..PartSpec::new(columns)
    }
}

fn table(spec: PartSpec) -> (FaultyStorage, TableParts) {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let parts = open(&storage, spec.clone()).unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(0..12)),
        Arc::new(BinaryViewArray::from_iter_values(WORDS)),
    ];
    parts.insert(RecordBatch::try_new(spec.schema(), columns).unwrap()).unwrap();
    (storage, parts)
}

fn token(text: &str) -> Predicate {
    Predicate::Value {
        operand: Operand::Column("s".to_owned()),
        test: ValueTest::Token(text.as_bytes().to_vec()),
    }
}

fn kept(parts: &TableParts, predicate: &Predicate) -> Vec<usize> {
    let part = Arc::clone(&parts.snapshot()[0]);
    let all = MarkRanges::all(part.mark_count());
    part.prune_by_indexes(&part.spec().indexes, all, predicate)
        .unwrap()
        .ranges
        .into_iter()
        .flatten()
        .collect()
}

fn tokens() -> IndexKind {
    IndexKind::TokenFilter { filter: FilterSize { bytes: 1024, hashes: 3, seed: 0 } }
}

#[test]
fn granules_without_the_token_are_left_out() {
    for wide_bytes_min in [0, u64::MAX] {
        let (storage, parts) = table(spec(tokens(), 1, wide_bytes_min));
        assert_eq!(kept(&parts, &token("fox")), [0, 2]);
        assert_eq!(kept(&parts, &token("none")), Vec::<usize>::new());
        assert_eq!(kept(&parts, &Predicate::Any), [0, 1, 2, 3, 4, 5]);
        assert_eq!(parts.stats()[0].indexes[0].name, "i");
        drop(parts);
        let parts = open(&storage, spec(tokens(), 1, wide_bytes_min)).unwrap();
        assert_eq!(kept(&parts, &token("sea")), [5]);
    }
}

#[test]
fn summary_of_several_granules_keeps_or_leaves_all_of_them() {
    let (_, parts) = table(spec(tokens(), 4, 0));
    assert_eq!(kept(&parts, &token("fox")), [0, 1, 2, 3]);
    assert_eq!(kept(&parts, &token("moon")), [4, 5]);
}

#[test]
fn index_of_another_type_is_not_used() {
    let (storage, parts) = table(spec(tokens(), 1, 0));
    drop(parts);
    let parts = open(&storage, spec(IndexKind::Set { values_max: 0 }, 1, 0)).unwrap();
    let point = Predicate::Value {
        operand: Operand::Column("s".to_owned()),
        test: ValueTest::Points(Arc::new(BinaryViewArray::from_iter_values(["none"]))),
    };
    assert_eq!(kept(&parts, &point), [0, 1, 2, 3, 4, 5]);
    parts.insert(parts.snapshot()[0].read(&[0, 1], 0..6, &Default::default()).unwrap()).unwrap();
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(kept(&parts, &point), Vec::<usize>::new());
}

/// `k / 4`, standing in for a planned expression.
#[derive(Debug)]
struct Quarter {
    columns: Vec<String>,
}

impl KeyExpression for Quarter {
    fn text(&self) -> &str {
        "intDiv(k, 4)"
    }

    fn ty(&self) -> &SqlType {
        &SqlType::UInt64
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn monotonic(&self) -> Option<Monotonic> {
        None
    }

    fn evaluate(&self, columns: &[ArrayRef], _rows: usize) -> basalt_base::Result<ArrayRef> {
        let values = columns[0].as_primitive::<UInt64Type>();
        Ok(Arc::new(values.iter().map(|value| value.map(|value| value / 4)).collect::<UInt64Array>()))
    }
}

/// An index of several elements has columns and computed values.
#[test]
fn computed_values_are_indexed_together_with_columns() {
    let quarter: Arc<dyn KeyExpression> = Arc::new(Quarter { columns: vec!["k".to_owned()] });
    let elements = vec![Indexed::Column("s".to_owned()), Indexed::Expression(quarter)];
    let number = |value: u64| Predicate::Value {
        operand: Operand::Expression("intDiv(k, 4)".to_owned()),
        test: ValueTest::Points(Arc::new(UInt64Array::from(vec![value]))),
    };
    let text = |text: &str| Predicate::Value {
        operand: Operand::Column("s".to_owned()),
        test: ValueTest::Points(Arc::new(BinaryViewArray::from_iter_values([text]))),
    };
    for kind in [IndexKind::Set { values_max: 0 }, IndexKind::BloomFilter { false_positive: 0.0001 }] {
        for wide_bytes_min in [0, u64::MAX] {
            let mut spec = spec(kind.clone(), 1, wide_bytes_min);
            spec.indexes[0].elements.clone_from(&elements);
            let (storage, parts) = table(spec.clone());
            assert_eq!(kept(&parts, &number(1)), [2, 3]);
            assert_eq!(kept(&parts, &text("old oak")), [1]);
            assert_eq!(kept(&parts, &Predicate::And(vec![number(1), text("old oak")])), Vec::<usize>::new());
            assert_eq!(kept(&parts, &Predicate::Or(vec![number(2), text("old oak")])), [1, 4, 5]);
            drop(parts);
            // The part identifies the index by its elements.
            spec.indexes[0].elements.remove(0);
            let parts = open(&storage, spec).unwrap();
            assert_eq!(kept(&parts, &number(1)), [0, 1, 2, 3, 4, 5]);
        }
    }
}
