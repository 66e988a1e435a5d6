//! Damaged files give errors or right answers.

use std::path::Path;

use basalt_base::fs::publish_file;

use super::sample::{PATH, built, open, read};
use crate::file::Access;

#[test]
fn every_flipped_bit_and_every_truncation_is_an_error() {
    let rows = 30;
    let storage = built(rows);
    let whole = storage.read(Path::new(PATH), 1 << 30).expect("bytes");
    let answers = |bytes: &[u8]| {
        publish_file(storage.as_ref(), Path::new(PATH), bytes)?;
        let segment = open(&storage, Access::Mapped)?;
        segment.check()?;
        read(&segment, rows)
    };
    answers(&whole).expect("whole");
    for bytes in (0..whole.len()).step_by(7) {
        assert!(answers(&whole[..bytes]).is_err(), "cut to {bytes} bytes");
    }
    for bit in (0..whole.len() * 8).step_by(11) {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(answers(&damaged).is_err(), "bit {bit}");
    }
}
