//! A damaged file of a part is refused or gives the rows that were written, never others.
//!
//! The first byte chooses the file, the second is the number of bytes cut off its end. Then come edits of three bytes
//! each: position (two bytes) and new value.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt64Array};
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use basalt_parts::{KeyElement, PartSpec, TableParts};

const DIR: &str = "/store/table";
/// The files of a compact part, then those of a wide one.
const FILES: [&str; 7] = ["part.meta", "data.bin", "part.meta", "primary.idx", "zones.idx", "n.col", "s.col"];
const COMPACT_FILES: usize = 2;
const ROWS: u64 = 10;

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let [file, lost, edits @ ..] = bytes else { return };
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).expect("a disk in memory");
    let file = usize::from(*file) % FILES.len();
    let is_wide = file >= COMPACT_FILES;
    let file = FILES[file];
    let parts = open(&storage, is_wide).expect("an empty table");
    let written = batch(&parts.spec().columns);
    parts.insert(written.clone()).expect("a disk in memory");
    drop(parts);
    storage.damage(&Path::new(DIR).join("all_1_1_0").join(file), |bytes| damage(bytes, *lost, edits));
    let Ok(parts) = open(&storage, is_wide) else { return };
    for part in parts.snapshot().iter() {
        let _ = part.check();
        if let Ok(read) = part.read(&[0, 1], 0..part.mark_count(), &Default::default()) {
            assert_eq!(read, written, "{file}");
        }
    }
}

fn open(storage: &FaultyStorage, is_wide: bool) -> Result<TableParts, basalt_parts::Error> {
    let columns = vec![Column::new("n", SqlType::UInt64), Column::new("s", SqlType::String.into_nullable())];
    let spec = PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 4,
        wide_bytes_min: if is_wide { 0 } else { u64::MAX },
        ..PartSpec::new(Columns::new(columns))
    };
    TableParts::open(Arc::new(storage.clone()), DIR, spec)
}

fn batch(columns: &Columns) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..ROWS));
    let texts: ArrayRef =
        Arc::new(BinaryViewArray::from_iter((0..ROWS).map(|n| (n % 3 > 0).then(|| n.to_string()))));
    RecordBatch::try_new(columns.to_arrow(), vec![numbers, texts]).expect("columns of these types")
}

fn damage(bytes: &mut Vec<u8>, lost: u8, edits: &[u8]) {
    let kept = bytes.len().saturating_sub(usize::from(lost));
    bytes.truncate(kept);
    for edit in edits.as_chunks::<3>().0 {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
        if let Some(byte) = bytes.get_mut(at % kept.max(1)) {
            *byte = edit[2];
        }
    }
}
