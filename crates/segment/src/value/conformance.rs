//! The promises of every column store, checked: any store has the values that its builder took.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array, new_empty_array};
use arrow::datatypes::DataType;
use basalt_base::Result;

use super::array_value::append_array_value;
use super::{ColumnSample, ColumnStore, StoreBuilder, StringEncoding, choose, open};
use crate::file::Access;
use crate::file::testing::{Parts, TestDir, each_damage};

pub(crate) const NAME: &str = "column/x";

/// The components of a builder for the values of all arrays, of the same type.
pub(crate) fn components(mut builder: Box<dyn StoreBuilder>, arrays: &[ArrayRef]) -> Vec<Parts> {
    arrays.iter().for_each(|array| builder.push(array).expect("the builder takes the values"));
    builder.finish().expect("components").into_iter().map(Parts::of).collect()
}

/// The components that the registry makes of the values.
pub(crate) fn chosen(arrays: &[ArrayRef], data_type: &DataType, dir: &TestDir) -> Vec<Parts> {
    let mut sample = ColumnSample::new(data_type, 1 << 20).expect("a type with a store");
    arrays.iter().for_each(|array| sample.add(array).expect("a sample"));
    components(
        choose(NAME, data_type, StringEncoding::Auto, &sample, dir.place()).expect("an encoding"),
        arrays,
    )
}

/// The values of a store are those of the arrays, in any order and in both ways of access.
pub(crate) fn check_components(parts: &[Parts], arrays: &[ArrayRef], data_type: &DataType, dir: &TestDir) {
    assert_eq!(parts[0].name, NAME, "its own component is the first");
    let all: ArrayRef = match arrays {
        [] => new_empty_array(data_type),
        arrays => {
            let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
            arrow::compute::concat(&arrays).expect("arrays of one type")
        }
    };
    for access in [Access::Mapped, Access::Read] {
        let file = dir.file_of_rows(parts, all.len() as u64, access);
        check_store(open(&file, NAME, data_type).expect("a store").as_ref(), &all);
    }
}

fn check_store(store: &dyn ColumnStore, all: &ArrayRef) {
    let rows = all.len();
    assert_eq!((store.len() as usize, store.is_empty()), (rows, rows == 0));
    for (from, to) in [(0, rows), (0, 0), (rows, rows), (1, 2), (1000, 1030), (77, 3000), (1024, 2048)] {
        let (from, to) = (from.min(rows), to.min(rows));
        let found = store.scan(from as u32..to as u32).expect("they are there");
        assert_eq!(&found, &all.slice(from, to - from), "rows {from} to {to}");
        assert_eq!(found.data_type(), all.data_type());
    }
    let beyond = rows as u32 + 1;
    assert!(
        store.scan(0..beyond).is_err() && store.take(&[beyond]).is_err() && store.take(&[u32::MAX]).is_err()
    );
    let step = (rows / 1500).max(1);
    let mut ranks: Vec<u32> = (0..rows as u32).rev().step_by(step).collect();
    ranks.extend((0..rows.min(3) as u32).chain(0..rows.min(1) as u32));
    for ranks in [&ranks[..], &[]] {
        let found = store.take(ranks).expect("they are there");
        let expected = arrow::compute::take(all, &UInt32Array::from(ranks.to_vec()), None).expect("in range");
        assert_eq!(&found, &expected);
        assert_eq!(found.data_type(), all.data_type());
    }
    check_single_values(store, all, step);
    if let Some(strings) = store.as_strings() {
        let views = arrow::array::AsArray::as_binary_view(all);
        for rank in (0..rows).step_by(step).filter(|&rank| views.is_valid(rank)) {
            let mut out = b"before".to_vec();
            strings.append(rank as u32, &mut out).expect("it is there");
            assert_eq!(&out[6..], views.value(rank));
        }
        assert!(strings.append(beyond, &mut Vec::new()).is_err());
    }
}

/// The bytes of single values are those of the array.
fn check_single_values(store: &dyn ColumnStore, all: &ArrayRef, step: usize) {
    if matches!(all.data_type(), DataType::List(_) | DataType::Struct(_) | DataType::Null) {
        return;
    }
    for rank in (0..all.len()).step_by(step) {
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        let is_there = append_array_value(all, rank, &mut expected).expect("a value");
        assert_eq!(store.append_value(rank as u32, &mut found).expect("it is there"), is_there);
        assert_eq!(found, expected, "row {rank}");
    }
    assert!(store.append_value(all.len() as u32 + 1, &mut Vec::new()).is_err());
}

/// Files with a flipped bit or a shortened section, whose checksums are right, give an error or some values.
pub(crate) fn check_damage(parts: &[Parts], rows: u32, data_type: &DataType, dir: &TestDir) {
    each_damage(parts, |parts| {
        let read = || -> Result<()> {
            let file = dir.file_of_rows(parts, u64::from(rows), Access::Mapped);
            let store = open(&file, NAME, data_type)?;
            let ranks: Vec<u32> = (0..rows).collect();
            let taken = store.take(&ranks).map(|values| assert_eq!(values.len(), rows as usize));
            let scanned = store.scan(0..rows).map(|values| assert_eq!(values.len(), rows as usize));
            let _ = ranks.iter().try_for_each(|&rank| store.append_value(rank, &mut Vec::new()).map(|_| ()));
            if let Some(strings) = store.as_strings() {
                let _ = ranks.iter().try_for_each(|&rank| strings.append(rank, &mut Vec::new()));
            }
            taken.and(scanned)
        };
        let _ = read();
    });
}

/// [`check_components`] and [`check_damage`] of what the registry makes of `values`, in one array, in several and in
/// none. Returns the encodings.
pub(crate) fn check(values: &ArrayRef) -> Vec<String> {
    let (dir, data_type) = (TestDir::new(), values.data_type());
    let mut blocks = Vec::new();
    let (mut start, mut length) = (0, 1);
    while start < values.len() {
        blocks.push(values.slice(start, length.min(values.len() - start)));
        (start, length) = (start + length, length * 2 + 1);
    }
    for arrays in [&[Arc::clone(values)][..], &blocks, &[]] {
        check_components(&chosen(arrays, data_type, &dir), arrays, data_type, &dir);
    }
    let few = values.slice(0, values.len().min(24));
    let parts = chosen(&[Arc::clone(&few)], data_type, &dir);
    check_damage(&parts, few.len() as u32, data_type, &dir);
    let parts = chosen(&blocks, data_type, &dir);
    parts.into_iter().map(|parts| parts.encoding).collect()
}
