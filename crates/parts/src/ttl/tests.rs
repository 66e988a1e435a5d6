//! Bounds survive encoding, and groups do not depend on where batches end.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::{Column, Columns, SqlType};
use proptest::prelude::*;

use super::apply::apply;
use super::bounds::TtlBounds;
use super::rule::{Aggregation, AggregationGroups, Expiry, TtlAction, TtlRule};
use crate::fields::{FieldReader, FieldWriter};
use crate::key::element::KeyElement;
use crate::spec::PartSpec;

/// Rows expire at a column's value divided by a number.
#[derive(Debug)]
pub(crate) struct ColumnExpiry {
    pub(crate) columns: Vec<String>,
    pub(crate) divisor: u64,
}

impl Expiry for ColumnExpiry {
    fn text(&self) -> &str {
        &self.columns[0]
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn evaluate(&self, columns: &[ArrayRef], _: usize) -> basalt_base::Result<Vec<i64>> {
        let values = columns[0].as_primitive::<UInt64Type>().values();
        Ok(values.iter().map(|value| (value / self.divisor).cast_signed()).collect())
    }
}

/// The rule `name` on the value of `column`.
pub(crate) fn rule(name: &str, column: &str, divisor: u64, action: TtlAction) -> TtlRule {
    let expiry = Arc::new(ColumnExpiry { columns: vec![column.to_owned()], divisor });
    TtlRule { name: name.to_owned(), expiry, action }
}

/// `SET v = sum(v)`.
#[derive(Debug)]
struct SumOfV(Vec<String>);

impl Aggregation for SumOfV {
    fn reads(&self) -> &[String] {
        &self.0
    }

    fn writes(&self) -> &[String] {
        &self.0
    }

    fn begin(&self) -> basalt_base::Result<Box<dyn AggregationGroups>> {
        Ok(Box::new(Sums(Vec::new())))
    }
}

struct Sums(Vec<u64>);

impl AggregationGroups for Sums {
    fn add(&mut self, rows: &RecordBatch, groups: &[usize], count: usize) -> basalt_base::Result<()> {
        self.0.resize(count, 0);
        for (value, &group) in rows.column(0).as_primitive::<UInt64Type>().values().iter().zip(groups) {
            self.0[group] += value;
        }
        Ok(())
    }

    fn take(&mut self, count: usize) -> basalt_base::Result<Vec<ArrayRef>> {
        let rest = self.0.split_off(count);
        let taken = std::mem::replace(&mut self.0, rest);
        Ok(vec![Arc::new(UInt64Array::from(taken))])
    }
}

/// `k` is the key, `e` the second at which a row expires.
pub(crate) fn expiring_spec(ttl: Vec<TtlRule>) -> PartSpec {
    let columns = ["k", "e", "v"].map(|name| Column::new(name, SqlType::UInt64));
    PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 4,
        wide_bytes_min: 0,
        ttl,
        ..PartSpec::new(Columns::new(columns.to_vec()))
    }
}

pub(crate) type Row = (u64, u64, u64);

pub(crate) fn batch_of(spec: &PartSpec, rows: &[Row]) -> RecordBatch {
    let column = |value: fn(&Row) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)))
    };
    let columns = vec![column(|row| row.0), column(|row| row.1), column(|row| row.2)];
    RecordBatch::try_new(spec.schema(), columns).unwrap()
}

pub(crate) fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let column = |at: usize| batch.column(at).as_primitive::<UInt64Type>();
    (0..batch.num_rows())
        .map(|row| (column(0).value(row), column(1).value(row), column(2).value(row)))
        .collect()
}

/// Aggregates runs of expired rows of one key.
fn grouped(rows: &[Row], now: u64) -> Vec<Row> {
    let mut groups: Vec<(Row, bool)> = Vec::new();
    for &row in rows {
        let is_expired = row.1 != 0 && row.1 <= now;
        match groups.last_mut() {
            Some((last, true)) if is_expired && last.0 == row.0 => last.2 += row.2,
            _ => groups.push((row, is_expired)),
        }
    }
    groups.into_iter().map(|(row, _)| row).collect()
}

proptest! {
    #[test]
    fn groups_may_go_over_the_ends_of_batches(
        mut rows in prop::collection::vec((0..4_u64, 0..4_u64, 0..9_u64), 1..60),
        batch_rows in 1..9_usize,
    ) {
        rows.sort_by_key(|row| row.0);
        let sum = Arc::new(SumOfV(vec!["v".to_owned()]));
        let action = TtlAction::Group { key_len: 1, aggregation: sum };
        let spec = Arc::new(expiring_spec(vec![rule("g", "e", 1, action)]));
        let batches: Vec<_> = rows.chunks(batch_rows).map(|rows| Ok(batch_of(&spec, rows))).collect();
        let mut found = Vec::new();
        for batch in apply(Box::new(batches.into_iter()), &spec, 2) {
            found.extend(rows_of(&batch.unwrap()));
        }
        prop_assert_eq!(found, grouped(&rows, 2));
    }
}

#[test]
fn bounds_survive_their_bytes_and_every_damage() {
    let mut bounds = TtlBounds::new("TTL d");
    for expiry in [7, -3, 0, 1 << 40] {
        bounds.add(expiry, expiry > 0);
    }
    assert_eq!((bounds.range(), bounds.due()), (Some((-3, 1 << 40)), Some(7)));
    assert!(!bounds.all_expired(i64::MAX), "a row without a time never expires");
    let mut out = FieldWriter::default();
    bounds.encode(&mut out);
    let bytes = out.bytes;
    assert_eq!(TtlBounds::decode(&mut FieldReader::new(&bytes)).unwrap(), bounds);
    for end in 0..bytes.len() {
        assert!(TtlBounds::decode(&mut FieldReader::new(&bytes[..end])).is_err(), "cut at {end}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(other) = TtlBounds::decode(&mut FieldReader::new(&flipped)) {
            assert_ne!(other, bounds, "bit {bit}");
        }
    }
}

#[test]
fn bounds_of_no_rows_ask_for_nothing() {
    let bounds = TtlBounds::new("x");
    assert_eq!((bounds.range(), bounds.due()), (None, None));
    assert!(bounds.all_expired(0));
}
