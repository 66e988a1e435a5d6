//! With a `part.meta` of any bytes, the table opens or sets the part aside; reading it gives rows or an error.
//!
//! The checksum at the end is corrected first; otherwise no input would reach the decoder.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt64Array};
use basalt_base::checksum::crc32c;
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use basalt_parts::{KeyElement, PartSpec, Predicate, TableParts};

const DIR: &str = "/store/table";
const META: &str = "/store/table/all_1_1_0/part.meta";
const ROWS: u64 = 10;

/// Panics if the promise is broken.
pub fn run(edits: &[u8]) {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).expect("a disk in memory");
    let parts = open(&storage).expect("an empty table");
    parts.insert(batch(&parts.spec().columns)).expect("a disk in memory");
    drop(parts);
    storage.damage(Path::new(META), |meta| edit(meta, edits));
    let Ok(parts) = open(&storage) else { return };
    for part in parts.snapshot().iter() {
        let _ = part.prune(&[], &Predicate::Any);
        // A part may say that it has any number of granules: reading them all would take for ever.
        let marks = part.mark_count().min(ROWS as usize);
        let _ = part.read(&[0, 1], 0..marks, &Default::default());
        if part.mark_count() == marks {
            let _ = part.check();
        }
    }
}

fn open(storage: &FaultyStorage) -> Result<TableParts, basalt_parts::Error> {
    let columns = vec![Column::new("n", SqlType::UInt64), Column::new("s", SqlType::String.into_nullable())];
    let spec = PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 4,
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

/// Applies edits of three bytes each: position (two bytes) and new value. The very first byte is the number of bytes
/// cut off the end.
fn edit(meta: &mut Vec<u8>, edits: &[u8]) {
    let Some((lost, edits)) = edits.split_first() else { return };
    let body = meta.len().saturating_sub(4 + usize::from(*lost));
    meta.truncate(body);
    for edit in edits.as_chunks::<3>().0 {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
        if let Some(byte) = meta.get_mut(at % body.max(1)) {
            *byte = edit[2];
        }
    }
    let crc = crc32c(meta);
    meta.extend_from_slice(&crc.to_le_bytes());
}
