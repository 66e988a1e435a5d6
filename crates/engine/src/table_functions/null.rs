//! `null('a UInt8, b String')`: a table without rows.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::Result;

use super::arguments::Arguments;
use crate::structure::columns_of;
use crate::tables::{Table, VirtualTable};

pub(super) fn null(args: &Arguments<'_>) -> Result<Arc<dyn Table>> {
    args.check_count(1, 1)?;
    let columns = columns_of(&args.text(0)?, "c")?;
    let schema = columns.to_arrow();
    let table = VirtualTable::of_block("Null", "_table_function", "null", &columns, move || {
        Ok(RecordBatch::new_empty(Arc::clone(&schema)))
    })?;
    Ok(Arc::new(table))
}
