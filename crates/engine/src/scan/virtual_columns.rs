//! Virtual columns: properties of a row that are not stored in the table, for example the part that
//! it is in. `*` does not include them, and a column of the table hides one of the same name.
//!
//! Some are the same in all rows that a scan gives: the provider adds them to the rows of any table. The others
//! belong to tables of parts, whose sources give them as they give columns.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use basalt_base::{Column, Columns, Error, Result, SqlType};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VirtualColumn {
    Part,
    PartIndex,
    PartStartingOffset,
    PartUuid,
    PartitionId,
    PartitionValue,
    SampleFactor,
    PartOffset,
    PartGranuleOffset,
    PartDataVersion,
    DiskName,
    RowExists,
    BlockNumber,
    BlockOffset,
    Table,
    Database,
}

/// The virtual columns of every table.
const OF_TABLES: [VirtualColumn; 2] = [VirtualColumn::Table, VirtualColumn::Database];

/// The virtual columns of a table of parts, in the order in which ClickHouse lists them.
const OF_PARTS: [VirtualColumn; 16] = [
    VirtualColumn::Part,
    VirtualColumn::PartIndex,
    VirtualColumn::PartStartingOffset,
    VirtualColumn::PartUuid,
    VirtualColumn::PartitionId,
    VirtualColumn::SampleFactor,
    VirtualColumn::PartOffset,
    VirtualColumn::PartGranuleOffset,
    VirtualColumn::PartDataVersion,
    VirtualColumn::DiskName,
    VirtualColumn::Table,
    VirtualColumn::Database,
    VirtualColumn::PartitionValue,
    VirtualColumn::RowExists,
    VirtualColumn::BlockNumber,
    VirtualColumn::BlockOffset,
];

impl VirtualColumn {
    pub(crate) fn name(self) -> &'static str {
        match self {
            VirtualColumn::Part => "_part",
            VirtualColumn::PartIndex => "_part_index",
            VirtualColumn::PartStartingOffset => "_part_starting_offset",
            VirtualColumn::PartUuid => "_part_uuid",
            VirtualColumn::PartitionId => "_partition_id",
            VirtualColumn::PartitionValue => "_partition_value",
            VirtualColumn::SampleFactor => "_sample_factor",
            VirtualColumn::PartOffset => "_part_offset",
            VirtualColumn::PartGranuleOffset => "_part_granule_offset",
            VirtualColumn::PartDataVersion => "_part_data_version",
            VirtualColumn::DiskName => "_disk_name",
            VirtualColumn::BlockNumber => "_block_number",
            VirtualColumn::BlockOffset => "_block_offset",
            VirtualColumn::RowExists => "_row_exists",
            VirtualColumn::Table => "_table",
            VirtualColumn::Database => "_database",
        }
    }

    pub(crate) fn find(name: &str) -> Option<VirtualColumn> {
        OF_PARTS.into_iter().find(|column| column.name() == name)
    }

    /// The type; `partition` are those of the elements of the partition key.
    fn ty(self, partition: &[SqlType]) -> SqlType {
        match self {
            VirtualColumn::Part
            | VirtualColumn::PartitionId
            | VirtualColumn::DiskName
            | VirtualColumn::Table
            | VirtualColumn::Database => SqlType::LowCardinality(SqlType::String.into()),
            VirtualColumn::PartIndex
            | VirtualColumn::PartStartingOffset
            | VirtualColumn::PartOffset
            | VirtualColumn::PartGranuleOffset
            | VirtualColumn::BlockNumber
            | VirtualColumn::BlockOffset
            | VirtualColumn::PartDataVersion => SqlType::UInt64,
            VirtualColumn::PartUuid => SqlType::Uuid,
            VirtualColumn::PartitionValue => SqlType::tuple_of(partition.iter().cloned()),
            VirtualColumn::SampleFactor => SqlType::Float64,
            VirtualColumn::RowExists => SqlType::UInt8,
        }
    }

    /// Whether it is the same in all rows of a scan.
    pub(crate) fn is_constant(self) -> bool {
        matches!(
            self,
            VirtualColumn::PartUuid
                | VirtualColumn::SampleFactor
                | VirtualColumn::RowExists
                | VirtualColumn::DiskName
                | VirtualColumn::Table
                | VirtualColumn::Database
        )
    }

    /// Whether it is the same in all rows of a part.
    pub(super) fn is_of_part(self) -> bool {
        !matches!(
            self,
            VirtualColumn::PartOffset | VirtualColumn::PartGranuleOffset | VirtualColumn::BlockOffset
        )
    }

    /// The value in row `row`, of a column that is not [the same in the whole part](VirtualColumn::is_of_part). Inserted
    /// offsets are not stored: they are the offsets in the part, as by default in ClickHouse.
    pub(super) fn in_row(self, row: u64, granule_rows: u64) -> u64 {
        if self == VirtualColumn::PartGranuleOffset { row / granule_rows } else { row }
    }

    /// Whether the same part may have another value in the next query.
    pub(super) fn is_of_snapshot(self) -> bool {
        matches!(self, VirtualColumn::PartIndex | VirtualColumn::PartStartingOffset)
    }
}

/// `stored`, then the virtual columns of every table. `is_taken` says which names are taken.
pub(crate) fn with_constants(stored: &Columns, is_taken: impl Fn(&str) -> bool) -> Columns {
    with(stored, OF_TABLES.into_iter(), &[], is_taken)
}

/// `stored`, then the virtual columns of a table of parts. `partition` are the types of the elements
/// of its partition key.
pub(crate) fn with_columns_of_parts(
    stored: &Columns,
    partition: &[SqlType],
    is_taken: impl Fn(&str) -> bool,
) -> Columns {
    let exists = |column: &VirtualColumn| *column != VirtualColumn::PartitionValue || !partition.is_empty();
    with(stored, OF_PARTS.into_iter().filter(exists), partition, is_taken)
}

fn with(
    stored: &Columns,
    more: impl Iterator<Item = VirtualColumn>,
    partition: &[SqlType],
    is_taken: impl Fn(&str) -> bool,
) -> Columns {
    let free = more.filter(|column| !is_taken(column.name()));
    let more = free.map(|column| Column::new(column.name(), column.ty(partition)));
    stored.iter().cloned().chain(more).collect()
}

/// The one row of `value`, `rows` times.
pub(crate) fn repeated(value: &dyn Array, rows: usize) -> Result<ArrayRef> {
    take(value, &UInt32Array::from(vec![0; rows]), None).map_err(Error::of_arrow)
}
