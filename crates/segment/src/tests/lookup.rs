//! What was built is found.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::DataType;

use super::sample::{PATH, built, open, read, spec};
use crate::file::Access;
use crate::{ColumnSpec, Segment};

#[test]
fn rows_come_back_in_both_ways_of_access() {
    for rows in [0, 1, 2, 1000, 2500] {
        let storage = built(rows);
        for access in [Access::Mapped, Access::Read] {
            let segment = open(&storage, access).expect("a segment");
            read(&segment, rows).expect("whole");
            segment.check().expect("whole");
        }
    }
}

#[test]
fn secondary_index_and_zones_find_rows() {
    let storage = built(2500);
    let segment = open(&storage, Access::Mapped).expect("a segment");
    let mut ranks = Vec::new();
    segment.index(0).expect("it is there").find(b"group 3", &mut ranks).expect("an index");
    let expected: Vec<u32> = (0..2500).filter(|at| at % 7 == 3 && at % 5 > 0).collect();
    assert_eq!(ranks, expected);
    let zones = segment.column(0).expect("it is there").zones().expect("numbers have zones");
    let bound = |number: i64| {
        let number: ArrayRef = Arc::new(Int64Array::from(vec![number]));
        crate::value::ZoneBound::of(&number, 0).expect("a number")
    };
    let found = zones.matching(bound(7 * 2400), bound(7 * 2401));
    assert!(
        found.iter().any(|ranks| ranks.contains(&2400)) && !found.iter().any(|ranks| ranks.contains(&100))
    );
}

#[test]
fn column_that_was_added_later_is_not_there() {
    let storage = built(10);
    let mut spec = spec();
    spec.columns.push(ColumnSpec::new("new", DataType::UInt8));
    spec.indexes.push("by_new".into());
    let segment = Segment::open(storage.as_ref(), Path::new(PATH), Access::Mapped, &spec).expect("a segment");
    assert!(segment.column(2).is_none() && segment.index(1).is_none() && segment.column(1).is_some());
}
