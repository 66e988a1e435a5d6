//! `system.asynchronous_metrics`: figures of the process and its data, computed when they are read.

use arrow::record_batch::RecordBatch;
use basalt_base::fs::disk_space;
use basalt_base::{Columns, Result};

use super::block;
use super::block::Alias;
use super::parts;
use crate::execution::Execution;

pub(super) const ALIASES: &[Alias] = &[("name", "String", "metric")];

pub(super) fn columns() -> Columns {
    block::declared("metric String, value Float64, description String")
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let rows = rows(query)?;
    block::BlockBuilder::default()
        .strings(rows.iter().map(|(name, ..)| name))
        .f64s(rows.iter().map(|(_, value, _)| *value))
        .strings(rows.iter().map(|(.., description)| description))
        .finish(&columns())
}

fn rows(query: &Execution) -> Result<Vec<(&'static str, f64, &'static str)>> {
    let instance = &query.instance;
    let catalog = instance.catalog();
    let space = disk_space(instance.data_dir())?;
    let parts = parts::lines(query);
    let sum = |figure: fn(&parts::Line) -> u64| {
        parts.iter().filter(|line| line.part.active).map(figure).sum::<u64>() as f64
    };
    let mut rows = vec![
        (
            "DiskAvailable_default",
            space.free as f64,
            "Bytes that are free on the disk of the data directory.",
        ),
        ("DiskTotal_default", space.total as f64, "Bytes of the disk of the data directory."),
        ("MemoryResident", query.services.memory.total() as f64, "Bytes of memory that the process holds."),
        ("NumberOfDatabases", catalog.databases().len() as f64, "Databases."),
        ("NumberOfTables", catalog.all_objects().len() as f64, "Tables, views and dictionaries."),
        ("TotalBytesOfMergeTreeTables", sum(|line| line.part.bytes_on_disk), "Bytes of active parts."),
        ("TotalPartsOfMergeTreeTables", sum(|_| 1), "Active parts."),
        ("TotalRowsOfMergeTreeTables", sum(|line| line.part.rows), "Rows of active parts."),
        ("Uptime", f64::from(instance.uptime_seconds()), "Seconds since the data directory was opened."),
    ];
    for (name, value) in ["LoadAverage1", "LoadAverage5", "LoadAverage15"].iter().zip(load_averages()) {
        rows.push((name, value, "Processes that run or wait for a processor, as the system reports them."));
    }
    Ok(rows)
}

/// The means of 1, 5 and 15 minutes; none where the system does not report them.
fn load_averages() -> Vec<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).filter_map(|field| field.parse().ok()).collect()
}
