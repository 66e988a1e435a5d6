//! Finds hashes in lines of any shape: by [`InnerProbe`] where payloads are in their cells, by [`OverhangProbe`] where that of
//! the last cell hangs over.

use super::Hits;
use super::line_probe::InnerProbe;
use super::line_shape::LineShape;
use super::lines::LineTable;
use super::overhang_probe::OverhangProbe;
use super::probe::{self, Accept};

/// Runs `$find` with `$probe`, which is made for the shape of `$tables`.
macro_rules! with_probe {
    ($tables:ident, $probe:ident => $find:expr) => {
        // As `line_shape` knows them.
        with_probe! {
            $tables, $probe => $find;
            inner:
            (0, 8) (0, 10) (0, 12)
            (1, 7) (1, 8) (1, 10)
            (2, 6) (2, 7) (2, 8) (2, 9)
            (3, 5) (3, 6) (3, 7)
            (4, 5) (4, 6) (4, 7)
            (5, 5) (5, 6)
            (6, 4) (6, 5)
            (7, 4) (7, 5)
            (8, 4)
            overhang:
            (6, 6, 6, 4480) (6, 6, 4, 4352)
            (7, 5, 2, 4224)
            (8, 5, 8, 4608) (8, 5, 6, 4480) (8, 5, 4, 4352) (8, 5, 3, 4288)
        }
    };
    ($tables:ident, $probe:ident => $find:expr;
     inner: $(($payload:literal, $cells:literal))*
     overhang: $(($hanging:literal, $over:literal, $overhang:literal, $block:literal))*) => {{
        let LineShape { cells, payload_bytes, overhang } = $tables[0].shape();
        match (payload_bytes, cells, overhang) {
            $(($payload, $cells, 0) => {
                let $probe = &InnerProbe::<$cells, $payload>::new($tables);
                $find
            })*
            $(($hanging, $over, $overhang) => {
                let $probe = &OverhangProbe::<$over, $hanging, $overhang, $block>::new($tables);
                $find
            })*
            _ => unreachable!("the shape of a table is a known one"),
        }
    }};
}

/// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
pub(super) fn find(tables: &[LineTable], hashes: &[u64], accept: Accept<'_>) -> Hits {
    with_probe!(tables, probe => probe::find(probe, hashes, accept))
}

/// The same in each form that this processor has.
#[cfg(test)]
pub(super) fn find_in_all_forms(
    tables: &[LineTable],
    hashes: &[u64],
    accept: probe::TestAccept<'_>,
) -> Vec<Hits> {
    with_probe!(tables, probe => probe::find_in_all_forms(probe, hashes, accept))
}
