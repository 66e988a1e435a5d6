//! Statistics of parts, for `system.parts` and `system.parts_columns`.

use std::path::PathBuf;

use arrow::array::ArrayRef;
use basalt_base::Column;

use super::active::TableParts;
use crate::key::partition::PartitionValue;
use crate::name::PartName;
use crate::part::meta::decode_bounds;
use crate::part::part_type::PartType;
use crate::part::view::Part;
use crate::ttl::rule::TtlRule;

/// Statistics of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartStats {
    pub name: PartName,
    /// The value of the partition key.
    pub partition: PartitionValue,
    /// Bounds of the columns that the partition key reads.
    pub partition_bounds: Vec<ColumnBounds>,
    pub path: PathBuf,
    pub part_type: PartType,
    /// Whether new queries read it.
    pub active: bool,
    /// Rows in the files, including deleted ones.
    pub rows: u64,
    pub deleted_rows: u64,
    pub marks: u64,
    /// Sum over the columns.
    pub data_compressed_bytes: u64,
    pub data_uncompressed_bytes: u64,
    pub marks_bytes: u64,
    /// All files of the part except its metadata.
    pub bytes_on_disk: u64,
    /// 0 until a query used the primary index.
    pub primary_key_bytes_in_memory: u64,
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    pub modified_at_us: u64,
    pub columns: Vec<ColumnStats>,
    pub indexes: Vec<IndexStats>,
    /// The TTL rules of the table that the part has bounds for.
    pub ttl: Vec<TtlStats>,
}

/// When the rows of a part expire by one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlStats {
    pub rule: TtlRule,
    /// The first and the last expiry time, in seconds since 1970; `None` if no row expires.
    pub range: Option<(i64, i64)>,
}

/// Statistics of a skip index of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStats {
    pub name: String,
    pub bytes_on_disk: u64,
}

/// The smallest and the largest value of a column in a part, as an array of two.
#[derive(Clone, Debug)]
pub struct ColumnBounds {
    pub column: Column,
    pub values: ArrayRef,
}

impl PartialEq for ColumnBounds {
    fn eq(&self, other: &ColumnBounds) -> bool {
        self.column == other.column && self.values.as_ref() == other.values.as_ref()
    }
}

impl Eq for ColumnBounds {}

/// Statistics of a column of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnStats {
    pub name: String,
    /// The type as SQL text.
    pub ty: String,
    /// The column's chain in this part, as SQL text.
    pub codec: String,
    pub data_compressed_bytes: u64,
    pub data_uncompressed_bytes: u64,
    pub marks_bytes: u64,
    pub bytes_on_disk: u64,
}

impl TableParts {
    /// The active parts, then obsolete ones that still have readers.
    pub fn stats(&self) -> Vec<PartStats> {
        let active = self.snapshot();
        let obsolete = self.obsolete();
        let active = active.iter().map(|part| part.stats(true));
        active.chain(obsolete.iter().map(|part| part.stats(false))).collect()
    }
}

impl Part {
    /// Bytes of all columns on disk.
    pub fn compressed_bytes(&self) -> u64 {
        self.stored.meta.columns.iter().map(|column| column.size.compressed_bytes).sum()
    }

    /// Bytes of the part's files with columns and indexes.
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        let meta = &self.stored.meta;
        meta.columns.iter().map(|column| column.size.file_bytes).sum::<u64>()
            + meta.primary_file_bytes
            + meta.zones_file_bytes
            + meta.skip_indexes.iter().map(|index| index.file_bytes).sum::<u64>()
    }

    /// Bytes of the file of the column at `column` of the table; 0 if the part was written without it.
    pub(crate) fn column_file_bytes(&self, column: usize) -> u64 {
        let name = &self.spec.columns[column].name;
        let mut columns = self.stored.meta.columns.iter();
        columns.find(|column| column.name == *name).map_or(0, |column| column.size.file_bytes)
    }

    fn index_stats(&self) -> Vec<IndexStats> {
        let indexes = self.stored.meta.skip_indexes.iter();
        indexes
            .map(|index| IndexStats { name: index.name.clone(), bytes_on_disk: index.file_bytes })
            .collect()
    }

    fn ttl_stats(&self) -> Vec<TtlStats> {
        let known = |rule: &TtlRule| {
            let range = self.ttl_bounds(&rule.name)?.range();
            Some(TtlStats { rule: rule.clone(), range })
        };
        self.spec.ttl.iter().filter_map(known).collect()
    }

    pub fn part_type(&self) -> PartType {
        if self.stored.meta.data_file.is_some() { PartType::Compact } else { PartType::Wide }
    }

    fn partition_bounds(&self) -> Vec<ColumnBounds> {
        let spec = &self.spec;
        let is_read =
            |position: usize| spec.partition_key.iter().any(|element| element.reads(position, &spec.columns));
        let bounds = |column: &Column| {
            let meta = self.stored.meta.columns.iter().find(|meta| meta.name == column.name)?;
            let values = decode_bounds(&column.to_field(), &meta.bounds).ok().flatten()?;
            Some(ColumnBounds { column: column.clone(), values })
        };
        let columns = spec.columns.iter().enumerate().filter(|(position, _)| is_read(*position));
        columns.filter_map(|(_, column)| bounds(column)).collect()
    }

    /// Statistics of the part; the caller knows whether it is `active`.
    pub fn stats(&self, active: bool) -> PartStats {
        let meta = &self.stored.meta;
        let columns: Vec<ColumnStats> = meta
            .columns
            .iter()
            .map(|column| ColumnStats {
                name: column.name.clone(),
                ty: column.ty.clone(),
                codec: column.chain.to_string(),
                data_compressed_bytes: column.size.compressed_bytes,
                data_uncompressed_bytes: column.size.decoded_bytes,
                marks_bytes: column.size.marks_bytes,
                bytes_on_disk: column.size.file_bytes,
            })
            .collect();
        let sum = |bytes: fn(&ColumnStats) -> u64| columns.iter().map(bytes).sum::<u64>();
        PartStats {
            name: self.name().clone(),
            // The reader of the part reports damage, not this.
            partition: self.partition().unwrap_or_default(),
            partition_bounds: self.partition_bounds(),
            path: self.stored.directory.path().to_owned(),
            part_type: self.part_type(),
            active,
            rows: meta.row_count,
            deleted_rows: meta.deleted_count,
            marks: meta.mark_count() as u64,
            data_compressed_bytes: sum(|column| column.data_compressed_bytes),
            data_uncompressed_bytes: sum(|column| column.data_uncompressed_bytes),
            marks_bytes: sum(|column| column.marks_bytes),
            bytes_on_disk: self.bytes_on_disk(),
            primary_key_bytes_in_memory: self.stored.primary_memory_bytes() as u64,
            modified_at_us: meta.made_at_us,
            indexes: self.index_stats(),
            ttl: self.ttl_stats(),
            columns,
        }
    }
}
