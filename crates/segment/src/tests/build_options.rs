//! What a build may use does not change the segment.

use std::path::Path;

use super::sample::{PATH, Rows, built_with, spec};
use crate::BuildOptions;

#[test]
fn segments_of_any_number_of_threads_have_the_same_bytes() {
    let bytes = |threads| {
        let options = BuildOptions { threads, ..BuildOptions::default() };
        let (storage, built) = built_with(&Rows(20_000), &spec(), options);
        assert_eq!(built.rows, 20_000);
        storage.read(Path::new(PATH), u64::MAX).expect("a segment")
    };
    let one = bytes(1);
    assert!(bytes(2) == one && bytes(7) == one, "the same bytes");
}
