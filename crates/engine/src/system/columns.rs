//! `system.columns`: the columns of every table, with what they take on disk.

use std::collections::HashMap;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use super::block::{Alias, BlockBuilder};
use super::registry::described;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::information_schema;
use crate::names::SYSTEM;
use crate::tables::{Table, default_kind_name, names_column, parts_of};

pub(super) const ALIASES: &[Alias] = &[("column", "String", "name")];

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("name", SqlType::String),
        ("type", SqlType::String),
        ("position", SqlType::UInt64),
        ("default_kind", SqlType::String),
        ("default_expression", SqlType::String),
        ("data_compressed_bytes", SqlType::UInt64),
        ("data_uncompressed_bytes", SqlType::UInt64),
        ("marks_bytes", SqlType::UInt64),
        ("comment", SqlType::String),
        ("is_in_partition_key", SqlType::UInt8),
        ("is_in_sorting_key", SqlType::UInt8),
        ("is_in_primary_key", SqlType::UInt8),
        ("is_in_sampling_key", SqlType::UInt8),
        ("compression_codec", SqlType::String),
        ("character_octet_length", SqlType::UInt64.into_nullable()),
        ("numeric_precision", SqlType::UInt64.into_nullable()),
        ("numeric_precision_radix", SqlType::UInt64.into_nullable()),
        ("numeric_scale", SqlType::UInt64.into_nullable()),
        ("datetime_precision", SqlType::UInt64.into_nullable()),
        ("serialization_hint", SqlType::String.into_nullable()),
        ("statistics", SqlType::String),
    ])
}

#[derive(Default)]
struct Line {
    database: String,
    table: String,
    name: String,
    ty: Option<SqlType>,
    position: u64,
    default_kind: &'static str,
    default_expression: String,
    compressed: u64,
    uncompressed: u64,
    marks: u64,
    comment: String,
    in_sorting_key: bool,
    in_primary_key: bool,
    in_partition_key: bool,
    in_sampling_key: bool,
    codec: String,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let mut lines = Vec::new();
    for (database, name, object) in query.visible_objects() {
        match object {
            CatalogObject::Table(table) => table_lines(&database, &name, table.as_ref(), &mut lines),
            CatalogObject::View(view) => plain_lines(&database, &name, &view.columns, &mut lines),
            CatalogObject::Dictionary(entry) => {
                plain_lines(&database, &name, &entry.shown_columns().0, &mut lines)
            }
            CatalogObject::Broken(_) => {}
        }
    }
    for (name, columns) in described() {
        plain_lines(SYSTEM, name, &columns, &mut lines);
    }
    for (database, name, _) in information_schema::views() {
        plain_lines(database, &name, &information_schema::view(&name)?.1, &mut lines);
    }
    lines.retain(|line| query.sees(&[&line.database, &line.table, &line.name]));
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.table))
        .strings(lines.iter().map(|line| &line.name))
        .strings(lines.iter().map(|line| line.ty.as_ref().map(ToString::to_string).unwrap_or_default()))
        .u64s(lines.iter().map(|line| line.position))
        .strings(lines.iter().map(|line| line.default_kind))
        .strings(lines.iter().map(|line| &line.default_expression))
        .u64s(lines.iter().map(|line| line.compressed))
        .u64s(lines.iter().map(|line| line.uncompressed))
        .u64s(lines.iter().map(|line| line.marks))
        .strings(lines.iter().map(|line| &line.comment))
        .u8s(lines.iter().map(|line| u8::from(line.in_partition_key)))
        .u8s(lines.iter().map(|line| u8::from(line.in_sorting_key)))
        .u8s(lines.iter().map(|line| u8::from(line.in_primary_key)))
        .u8s(lines.iter().map(|line| u8::from(line.in_sampling_key)))
        .strings(lines.iter().map(|line| &line.codec));
    let sizes: Vec<Sizes> =
        lines.iter().map(|line| line.ty.as_ref().map(Sizes::of).unwrap_or_default()).collect();
    block
        .maybe_u64s(sizes.iter().map(|sizes| sizes.octets))
        .maybe_u64s(sizes.iter().map(|sizes| sizes.precision))
        .maybe_u64s(sizes.iter().map(|sizes| sizes.radix))
        .maybe_u64s(sizes.iter().map(|sizes| sizes.scale))
        .maybe_u64s(sizes.iter().map(|sizes| sizes.fraction));
    block.finish(&columns())
}

/// The sizes of a type, as the information schema defines them.
#[derive(Default)]
struct Sizes {
    octets: Option<u64>,
    precision: Option<u64>,
    radix: Option<u64>,
    scale: Option<u64>,
    /// Digits of the fraction of a second.
    fraction: Option<u64>,
}

impl Sizes {
    fn of(ty: &SqlType) -> Sizes {
        let ty = ty.stripped();
        let mut sizes = Sizes::default();
        match ty {
            SqlType::FixedString(bytes) => sizes.octets = Some(*bytes as u64),
            SqlType::Decimal { precision, scale } => {
                (sizes.precision, sizes.radix) = (Some(u64::from(*precision)), Some(10));
                sizes.scale = Some(u64::from(*scale));
            }
            SqlType::Date | SqlType::Date32 | SqlType::DateTime(_) => sizes.fraction = Some(0),
            SqlType::DateTime64 { precision, .. } => sizes.fraction = Some(u64::from(*precision)),
            ty if ty.is_whole() || *ty == SqlType::Bool => {
                sizes.precision = ty.fixed_bytes().map(|bytes| bytes as u64 * 8);
                (sizes.radix, sizes.scale) = (Some(2), Some(0));
            }
            _ => {}
        }
        sizes
    }
}

fn plain_lines(database: &str, table: &str, columns: &[basalt_base::Column], lines: &mut Vec<Line>) {
    for (position, column) in (1..).zip(columns) {
        lines.push(Line {
            database: database.to_owned(),
            table: table.to_owned(),
            name: column.name.clone(),
            ty: Some(column.ty.clone()),
            position,
            ..Line::default()
        });
    }
}

fn table_lines(database: &str, name: &str, table: &dyn Table, lines: &mut Vec<Line>) {
    let definition = table.definition();
    let (sort_key, primary) = definition.sort_key().unwrap_or_default();
    let partition = definition.partition_key();
    let sizes = sizes_of(table);
    for (position, column) in (1..).zip(&definition.columns) {
        let in_key = sort_key.iter().position(|key| names_column(&key.expr, &column.name));
        let (compressed, uncompressed, marks) = sizes.get(&column.name).copied().unwrap_or_default();
        let default = column.default.as_ref();
        lines.push(Line {
            database: database.to_owned(),
            table: name.to_owned(),
            name: column.name.clone(),
            ty: Some(column.ty.clone()),
            position,
            default_kind: column.kind().map(default_kind_name).unwrap_or_default(),
            default_expression: default
                .and_then(|default| default.expr.as_ref())
                .map(ToString::to_string)
                .unwrap_or_default(),
            compressed,
            uncompressed,
            marks,
            comment: column.comment.clone(),
            in_sorting_key: in_key.is_some(),
            in_primary_key: in_key.is_some_and(|at| at < primary),
            in_partition_key: partition.iter().any(|expr| names_column(expr, &column.name)),
            in_sampling_key: definition.create.sample_by.iter().any(|expr| names_column(expr, &column.name)),
            codec: column.codec.as_ref().map(|codec| format!("CODEC({codec})")).unwrap_or_default(),
        });
    }
}

/// Compressed, uncompressed and mark bytes of each column over the active parts.
fn sizes_of(table: &dyn Table) -> HashMap<String, (u64, u64, u64)> {
    let mut sizes: HashMap<String, (u64, u64, u64)> = HashMap::new();
    let parts = parts_of(table).map(|parts| parts.stats()).unwrap_or_default();
    for part in parts.into_iter().filter(|part| part.active) {
        for column in part.columns {
            let total = sizes.entry(column.name).or_default();
            total.0 += column.data_compressed_bytes;
            total.1 += column.data_uncompressed_bytes;
            total.2 += column.marks_bytes;
        }
    }
    sizes
}
