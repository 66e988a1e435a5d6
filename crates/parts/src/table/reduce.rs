//! Reduces merged rows: by the table's mode, DEDUPLICATE and the TTL.

use std::sync::Arc;

use super::control::WorkControl;
use crate::error::Error;
use crate::mode::reduced::ReducedRows;
use crate::mode::{Purpose, Reducer, distinct, reducer};
use crate::spec::PartSpec;
use crate::ttl::apply::{SortedRows, apply};

/// Applies the table's mode, DEDUPLICATE by the columns at `deduplicate`, and the TTL at `now_s` to `rows`.
pub(super) fn reduced_rows<'a>(
    rows: SortedRows<'a>,
    spec: &Arc<PartSpec>,
    deduplicate: Option<Vec<usize>>,
    now_s: Option<i64>,
    control: &'a WorkControl,
) -> SortedRows<'a> {
    let mut rows: SortedRows<'a> =
        Box::new(rows.map(|batch| if control.is_cancelled() { Err(Error::Cancelled) } else { batch }));
    let reducers: Vec<Box<dyn Reducer>> =
        reducer(spec, Purpose::Merge).into_iter().chain(deduplicate.map(distinct)).collect();
    for reducer in reducers {
        rows = Box::new(ReducedRows::new(rows, spec.as_ref().clone(), reducer));
    }
    if let Some(now_s) = now_s {
        rows = apply(rows, spec, now_s);
    }
    Box::new(rows.inspect(|batch| {
        if let Ok(batch) = batch {
            control.count_written(batch.num_rows());
            batch.columns().iter().for_each(|values| {
                control.count_written_bytes(values);
            });
        }
    }))
}
