//! Finds hashes in a cuckoo table of any shape: by [`SpilledProbe`] if its payloads spill, else by [`CuckooProbe`].

use super::Hits;
use super::bucket_shape::{BucketShape, SPILLING_CELLS, SPILLING_PAYLOAD_BYTES};
use super::cuckoo::CuckooTable;
use super::cuckoo_probe::CuckooProbe;
use super::probe::{self, Accept};
use super::spilled_probe::SpilledProbe;

/// Runs `$find` with `$probe`, which is made for the shape of `$tables`.
macro_rules! with_probe {
    ($tables:ident, $probe:ident => $find:expr) => {
        // All shapes of `bucket_shape` that do not spill.
        with_probe! {
            $tables, $probe => $find;
            (0, 8) (0, 10) (0, 12)
            (1, 7) (1, 8) (1, 10)
            (2, 6) (2, 7) (2, 8) (2, 9)
            (3, 5) (3, 6) (3, 7)
            (4, 5) (4, 6) (4, 7)
            (5, 5) (5, 6)
            (6, 4) (6, 5)
            (7, 4) (7, 5)
            (8, 4)
        }
    };
    ($tables:ident, $probe:ident => $find:expr;
     $(($payload:literal, $cells:literal))*) => {{
        let BucketShape { cells, payload_bytes } = $tables[0].shape();
        match (payload_bytes, cells) {
            $(($payload, $cells) => {
                let $probe = &CuckooProbe::<$cells, $payload>::new($tables);
                $find
            })*
            (SPILLING_PAYLOAD_BYTES, SPILLING_CELLS) => {
                let $probe = &SpilledProbe::new($tables);
                $find
            }
            _ => unreachable!("the shape of a table is a known one"),
        }
    }};
}

/// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
pub(super) fn find(tables: &[CuckooTable], hashes: &[u64], accept: Accept<'_>) -> Hits {
    with_probe!(tables, probe => probe::find(probe, hashes, accept))
}

/// [`find`] in each form that this processor has.
#[cfg(test)]
pub(super) fn find_in_all_forms(
    tables: &[CuckooTable],
    hashes: &[u64],
    accept: probe::TestAccept<'_>,
) -> Vec<Hits> {
    with_probe!(tables, probe => probe::find_in_all_forms(probe, hashes, accept))
}
