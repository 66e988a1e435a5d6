//! Counters of a query as a block, in the form that ClickHouse's clients know.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::array::{ArrayRef, BinaryViewArray, Int8Array, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use basalt_base::{Column, Columns, Error, Result, SqlType};

/// The counter grew by the value.
const INCREMENT: i8 = 1;
const GAUGE: i8 = 2;

/// The columns and the rows of the block: a row for each name with its growth since the block before.
pub(super) fn block(host: &str, events: &[(&str, u64)]) -> Result<(Columns, RecordBatch)> {
    let types: Arc<[(String, i8)]> =
        [("increment".to_owned(), INCREMENT), ("gauge".to_owned(), GAUGE)].into();
    let columns = Columns::new(vec![
        Column::new("host_name", SqlType::String),
        Column::new("current_time", SqlType::DateTime(None)),
        Column::new("thread_id", SqlType::UInt64),
        Column::new("type", SqlType::Enum8(types)),
        Column::new("name", SqlType::String),
        Column::new("value", SqlType::Int64),
    ]);
    let rows = events.len();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as u32);
    let strings = |texts: Vec<&str>| -> ArrayRef { Arc::new(BinaryViewArray::from_iter_values(texts)) };
    let arrays: Vec<ArrayRef> = vec![
        strings(vec![host; rows]),
        Arc::new(UInt32Array::from_value(now, rows)),
        Arc::new(UInt64Array::from_value(0, rows)),
        Arc::new(Int8Array::from_value(INCREMENT, rows)),
        strings(events.iter().map(|(name, _)| *name).collect()),
        Arc::new(Int64Array::from_iter_values(events.iter().map(|(_, value)| *value as i64))),
    ];
    let block = RecordBatch::try_new(columns.to_arrow(), arrays).map_err(Error::logical)?;
    Ok((columns, block))
}
