//! The keys of an ordered index that conditions leave: single keys, or a range.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use basalt_base::{Error, Result};
use basalt_kv::KeyRange;

use super::condition::{ColumnCondition, ValueSet};

/// Keys that a product of IN lists may have; beyond it the table is scanned.
const KEYS_MAX: usize = 4 << 20;

/// The rows that conditions on the key leave.
pub(crate) enum Reach {
    /// One array a key column.
    Keys(Vec<ArrayRef>),
    Range(KeyRange),
}

/// The keys or the range that the conditions leave.
pub(crate) fn reach(key: &[usize], conditions: &[ColumnCondition]) -> Result<Reach> {
    let of_column = |column: usize| conditions.iter().filter(move |found| found.column == column);
    let points: Option<Vec<ArrayRef>> = key
        .iter()
        .map(|&column| {
            of_column(column).find_map(|found| match &found.values {
                ValueSet::Points(points) => Some(Arc::clone(points)),
                ValueSet::Range { .. } => None,
            })
        })
        .collect();
    if let Some(points) = points
        && let Some(keys) = product(&points)?
    {
        return Ok(Reach::Keys(keys));
    }
    let mut prefix = Vec::new();
    for &column in key {
        let single = of_column(column).find_map(|found| match &found.values {
            ValueSet::Points(points) if points.len() == 1 => Some(Arc::clone(points)),
            _ => None,
        });
        match single {
            Some(point) => prefix.push(point),
            None => return Ok(Reach::Range(range(prefix, of_column(column)))),
        }
    }
    Ok(Reach::Range(KeyRange::prefix(prefix)))
}

/// Every combination of the key columns' values; `None` if they are too many.
fn product(columns: &[ArrayRef]) -> Result<Option<Vec<ArrayRef>>> {
    if let [single] = columns {
        return Ok((single.len() <= KEYS_MAX).then(|| vec![Arc::clone(single)]));
    }
    let count = columns.iter().try_fold(1_usize, |count, column| count.checked_mul(column.len()));
    let Some(count) = count.filter(|&count| count <= KEYS_MAX) else {
        return Ok(None);
    };
    let mut repeat = count;
    let keys = columns.iter().map(|column| {
        repeat /= column.len().max(1);
        let run = repeat.max(1);
        let indices = (0..count).map(|row| ((row / run) % column.len()) as u32);
        take(column, &UInt32Array::from_iter_values(indices), None).map_err(Error::of_arrow)
    });
    keys.collect::<Result<Vec<_>>>().map(Some)
}

/// The range of keys that begin with `prefix` and whose next column meets the conditions.
fn range<'a>(prefix: Vec<ArrayRef>, next: impl Iterator<Item = &'a ColumnCondition>) -> KeyRange {
    let bound = |value: &ArrayRef| {
        let mut columns = prefix.clone();
        columns.push(Arc::clone(value));
        columns
    };
    let mut range = if prefix.is_empty() { KeyRange::all() } else { KeyRange::prefix(prefix.clone()) };
    for condition in next {
        let ValueSet::Range { low, high } = &condition.values else { continue };
        range = match low {
            Some((value, true)) => range.from(bound(value)),
            Some((value, false)) => range.after(bound(value)),
            None => range,
        };
        range = match high {
            Some((value, true)) => range.to(bound(value)),
            Some((value, false)) => range.before(bound(value)),
            None => range,
        };
    }
    range
}
