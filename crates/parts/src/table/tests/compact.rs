//! Small parts are one file, and grow into wide ones.

use std::path::Path;

use basalt_base::fs::Storage;

use super::{DIR, TestTable, compact_spec, files, number_spec, numbers, read_numbers};
use crate::part::part_type::PartType;
use crate::spec::PartSpec;

/// Bytes of the values of ten rows.
const TEN_ROWS_BYTES: u64 = 80;

#[test]
fn compact_part_is_two_files_that_are_synced() {
    let table = TestTable::with_spec(compact_spec());
    table.parts.insert(numbers(0..10)).unwrap();
    let names: Vec<_> = files(&table.storage, Path::new(DIR))
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["data.bin", "part.meta"]);
    let before = table.storage.sync_count();
    table.parts.insert(numbers(10..20)).unwrap();
    // Both files, their directory, and the table's.
    assert_eq!(table.storage.sync_count() - before, 4);
    let table = table.reopen();
    assert_eq!(read_numbers(&table.parts).unwrap(), (0..20).collect::<Vec<_>>());
    table.parts.snapshot()[0].check().unwrap();
}

#[test]
fn merge_of_compact_parts_is_wide_when_it_is_large_enough() {
    let spec = PartSpec { wide_bytes_min: 2 * TEN_ROWS_BYTES, ..number_spec() };
    let table = TestTable::with_spec(spec);
    let types = || table.parts.stats().iter().map(|part| part.part_type).collect::<Vec<_>>();
    table.parts.insert(numbers(0..10)).unwrap();
    table.parts.insert(numbers(10..20)).unwrap();
    assert_eq!(types(), [PartType::Compact, PartType::Compact]);
    table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(types(), [PartType::Wide]);
    assert_eq!(read_numbers(&table.parts).unwrap(), (0..20).collect::<Vec<_>>());
}

#[test]
fn part_is_wide_only_if_both_limits_are_met() {
    let check = |wide_bytes_min: u64, wide_rows_min: u64, expected: PartType| {
        let spec = PartSpec { wide_bytes_min, wide_rows_min, ..number_spec() };
        let table = TestTable::with_spec(spec);
        table.parts.insert(numbers(0..10)).unwrap();
        assert_eq!(table.parts.stats()[0].part_type, expected, "{wide_bytes_min}, {wide_rows_min}");
    };
    check(TEN_ROWS_BYTES, 0, PartType::Wide);
    check(TEN_ROWS_BYTES + 1, 0, PartType::Compact);
    check(0, 10, PartType::Wide);
    check(0, 11, PartType::Compact);
}

#[test]
fn damage_in_a_compact_part_is_told_by_its_place_in_the_file() {
    let table = TestTable::with_spec(compact_spec());
    table.parts.insert(numbers(0..10)).unwrap();
    let path = Path::new(DIR).join("all_1_1_0/data.bin");
    table.storage.damage(&path, |bytes| bytes[9] ^= 4);
    let error = read_numbers(&table.parts).unwrap_err();
    assert!(error.to_string().contains("data.bin is corrupt at byte 8: checksum of block 0"), "{error}");
    table.storage.damage(&path, |bytes| bytes.truncate(20));
    let table = table.reopen();
    let error = read_numbers(&table.parts).unwrap_err();
    assert!(error.to_string().contains("data.bin is corrupt at byte"), "{error}");
}

#[test]
fn part_that_lost_a_file_is_set_aside_at_open() {
    for (spec, lost) in [(compact_spec(), "data.bin"), (number_spec(), "n.col")] {
        let table = TestTable::with_spec(spec);
        table.parts.insert(numbers(0..10)).unwrap();
        table.parts.insert(numbers(10..20)).unwrap();
        table.storage.remove_file(&Path::new(DIR).join("all_1_1_0").join(lost)).unwrap();
        let table = table.reopen();
        let reason = &table.parts.detached()[0].reason;
        assert!(reason.contains(lost) && reason.contains("is missing"), "{reason}");
        assert_eq!(read_numbers(&table.parts).unwrap(), (10..20).collect::<Vec<_>>());
    }
}
