//! Any bytes are a block of Native or refused; a block is written as bytes that read back to itself.
//!
//! The first byte chooses the revision of the protocol, the rest is the block.

use std::io::Cursor;

use arrow::array::RecordBatch;
use basalt_base::Columns;
use basalt_formats::native::{BlockDecoder, BlockLimits, REVISION_MAX, write_block};
use basalt_formats::{FormatSettings, open_writer};

/// Before and after each change of the layout.
const REVISIONS: [u64; 6] = [0, 1, 54_337, 54_405, 54_454, REVISION_MAX];

const BYTES_MAX: u64 = 1 << 20;

/// Panics if the promise is broken.
pub fn run(bytes: &[u8]) {
    let [revision, block @ ..] = bytes else { return };
    let revision = REVISIONS[usize::from(*revision) % REVISIONS.len()];
    let Some((columns, batch)) = decoded(block, revision, BYTES_MAX) else { return };
    let settings = FormatSettings::default();
    let mut text = Vec::new();
    // Values of any bits have a text.
    let mut writer = open_writer("TabSeparated", &columns, &settings).expect("a format");
    writer.write(&batch, &mut text).expect("every type has a text");
    let first = encoded(&columns, &batch, revision);
    let (columns, batch) = decoded(&first, revision, u64::MAX).expect("a block that was written");
    assert_eq!(
        encoded(&columns, &batch, revision).escape_ascii().to_string(),
        first.escape_ascii().to_string()
    );
}

fn decoded(bytes: &[u8], revision: u64, bytes_max: u64) -> Option<(Columns, RecordBatch)> {
    let limits = BlockLimits { bytes_max };
    let mut decoder = BlockDecoder::new(revision, limits).expect("a known revision");
    decoder.read(&mut Cursor::new(bytes)).ok().flatten()
}

fn encoded(columns: &Columns, batch: &RecordBatch, revision: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_block(columns, batch, revision, &mut out).expect("a block that was read");
    out
}
