//! What opening reads, and what it leaves.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryViewArray, UInt64Array};
use arrow::datatypes::DataType;
use basalt_base::ErrorCode;
use basalt_base::fs::publish_file;

use super::sample::{Columns, PATH, built_of};
use crate::file::Access;
use crate::value::StringEncoding;
use crate::{ColumnSpec, Segment};

const ROWS: u64 = 120_000;

/// Numbers that look like random ones.
fn noise(at: u64) -> u64 {
    let word = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Columns whose values take several blocks of checksums, in stores of every kind.
fn columns() -> Columns {
    let numbers = |number: &dyn Fn(u64) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values((0..ROWS).map(|at| number(noise(at)))))
    };
    let mut columns = Columns::new([
        ("plain", numbers(&|noise| noise)),
        ("packed", numbers(&|noise| noise >> 40)),
        ("codes", numbers(&|random| noise(random % 1000))),
    ]);
    let text = |at: u64| format!("row {at} was made of {:x}{:x} and no more", noise(at), noise(at + 7));
    let strings: ArrayRef = Arc::new(BinaryViewArray::from_iter_values((0..ROWS).map(text)));
    let repeated = |at: u64| format!("one of many: {}", noise(noise(at) % 80_000));
    let folded: ArrayRef = Arc::new(BinaryViewArray::from_iter_values((0..ROWS).map(repeated)));
    let mut add = |name, encoding, values: &ArrayRef| {
        let column = ColumnSpec { strings: encoding, ..ColumnSpec::new(name, DataType::BinaryView) };
        columns.0.push((column, Arc::clone(values)));
    };
    add("strings", StringEncoding::Plain, &strings);
    add("onpair", StringEncoding::OnPair, &strings);
    add("long_match", StringEncoding::LongMatch, &strings);
    add("archive", StringEncoding::Archive, &strings);
    add("folded", StringEncoding::OnPair, &folded);
    columns
}

#[test]
fn opening_reads_no_values_and_a_damaged_one_is_found_when_it_is_read() {
    let columns = columns();
    let (storage, _) = built_of(&columns, &columns.spec());
    let whole = storage.read(Path::new(PATH), 1 << 30).expect("bytes");
    let open = |access| Segment::open(storage.as_ref(), Path::new(PATH), access, &columns.spec());
    let segment = open(Access::Read).expect("a segment");
    for (position, (column, values)) in columns.0.iter().enumerate() {
        let component = segment.file().component(&column.component()).expect("it is there");
        assert_eq!(component.encoding(), column.name);
        let sections = component.component().sections.iter();
        let largest = sections.max_by_key(|section| section.end - section.start).expect("a section");
        assert!(largest.end - largest.start > 2 << 16, "{}: {largest:?}", column.name);
        let mut damaged = whole.clone();
        damaged[((largest.start + largest.end) / 2) as usize] ^= 1;
        publish_file(storage.as_ref(), Path::new(PATH), &damaged).expect("a file");
        for access in [Access::Mapped, Access::Read] {
            let damaged = open(access).expect("values are not read");
            let read = damaged.column(position).expect("it is there").store().scan(0..values.len() as u32);
            assert_eq!(
                read.expect_err("a flipped bit").code(),
                ErrorCode::ChecksumDoesntMatch,
                "{}",
                column.name
            );
            assert!(damaged.check().is_err());
        }
    }
}
