//! Which hash table a layout has.

use crate::layout_kind::LayoutKind;
use crate::layout_spec::LayoutSpec;
use crate::table::{TableForm, TableShape};

/// How far SPARSE_HASHED fills its buckets by default.
const SPARSE_LOAD_FACTOR: f64 = 0.95;

pub(crate) fn table_shape(layout: &LayoutSpec, payload_bytes: usize) -> TableShape {
    TableShape {
        shards: layout.shards as usize,
        queue_backlog: layout.shard_load_queue_backlog as usize,
        payload_bytes,
    }
}

/// A cuckoo table, filled as far as the layout says. `rows` is the greatest number of rows if some come later.
pub(crate) fn table_form(layout: &LayoutSpec, rows: Option<usize>) -> TableForm {
    let own = match layout.kind {
        LayoutKind::SparseHashed | LayoutKind::ComplexKeySparseHashed => Some(SPARSE_LOAD_FACTOR),
        _ => None,
    };
    TableForm::Cuckoo { load_factor: layout.max_load_factor.or(own), rows }
}
