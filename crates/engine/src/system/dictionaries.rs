//! `system.dictionaries`: every dictionary, what it holds and how its last load went.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_dict::DictionaryStats;

use super::block;
use super::block::BlockBuilder;
use crate::catalog::CatalogObject;
use crate::dictionaries::{DictionaryEntry, DictionaryState, DictionaryStatus};
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    let statuses = DictionaryStatus::NAMES.iter().map(|&(name, number)| (name.to_owned(), number)).collect();
    block::columns([
        ("database", SqlType::String),
        ("name", SqlType::String),
        ("uuid", SqlType::Uuid),
        ("status", SqlType::Enum8(statuses)),
        ("origin", SqlType::String),
        ("type", SqlType::String),
        ("key.names", block::string_array()),
        ("key.types", block::string_array()),
        ("attribute.names", block::string_array()),
        ("attribute.types", block::string_array()),
        ("bytes_allocated", SqlType::UInt64),
        ("hierarchical_index_bytes_allocated", SqlType::UInt64),
        ("query_count", SqlType::UInt64),
        ("hit_rate", SqlType::Float64),
        ("found_rate", SqlType::Float64),
        ("element_count", SqlType::UInt64),
        ("load_factor", SqlType::Float64),
        ("source", SqlType::String),
        ("lifetime_min", SqlType::UInt64),
        ("lifetime_max", SqlType::UInt64),
        ("loading_start_time", SqlType::DateTime(None)),
        ("last_successful_update_time", SqlType::DateTime(None)),
        ("error_count", SqlType::UInt64),
        ("loading_duration", SqlType::Float32),
        ("last_exception", SqlType::String),
        ("comment", SqlType::String),
        // Basalt's own.
        ("loading_rows", SqlType::UInt64),
        ("loading_step", SqlType::String),
    ])
}

struct Line {
    database: String,
    name: String,
    entry: Arc<DictionaryEntry>,
    state: DictionaryState,
    stats: DictionaryStats,
    keys: Columns,
    attributes: Columns,
}

impl Line {
    fn loading_seconds(&self, now_us: u64) -> f64 {
        if self.state.is_loading() {
            return now_us.saturating_sub(self.state.loading_start_us) as f64 / 1e6;
        }
        self.state.loading_seconds
    }

    /// The layout that the definition names, or what a loaded AUTO became.
    fn layout(&self) -> &'static str {
        self.state.version().map_or_else(|| self.entry.layout(), |dictionary| dictionary.layout())
    }
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let lines: Vec<Line> = query.visible_objects().into_iter().filter_map(line).collect();
    let mut block = BlockBuilder::default();
    push_definitions(&mut block, &lines);
    push_figures(&mut block, &lines, query.services.clock.now_us());
    block.finish(&columns())
}

fn line((database, name, object): (String, String, CatalogObject)) -> Option<Line> {
    let CatalogObject::Dictionary(entry) = object else { return None };
    let state = entry.state();
    let stats = state.version().map(|dictionary| dictionary.stats()).unwrap_or_default();
    let (keys, attributes) = (entry.keys(), entry.attributes());
    Some(Line { database, name, entry, state, stats, keys, attributes })
}

fn push_definitions(block: &mut BlockBuilder, lines: &[Line]) {
    let names = |columns: &[basalt_base::Column]| columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let types =
        |columns: &[basalt_base::Column]| columns.iter().map(|c| c.ty.to_string()).collect::<Vec<_>>();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.name))
        .uuids(lines.iter().map(|line| line.entry.uuid()))
        .i8s(lines.iter().map(|line| line.state.status().number()))
        .strings(lines.iter().map(|line| line.entry.uuid().to_string()))
        .strings(lines.iter().map(|line| type_name(line.layout())))
        .string_lists(lines.iter().map(|line| names(&line.keys)))
        .string_lists(lines.iter().map(|line| types(&line.keys)))
        .string_lists(lines.iter().map(|line| names(&line.attributes)))
        .string_lists(lines.iter().map(|line| types(&line.attributes)));
}

fn push_figures(block: &mut BlockBuilder, lines: &[Line], now_us: u64) {
    let rate = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
    let hits = |stats: &DictionaryStats| stats.query_count.saturating_sub(stats.missed_count);
    let seconds = |us: u64| (us / 1_000_000) as u32;
    block
        .u64s(lines.iter().map(|line| line.stats.bytes_allocated))
        // Children of a key are found by a scan.
        .u64s(lines.iter().map(|_| 0))
        .u64s(lines.iter().map(|line| line.stats.query_count))
        .f64s(lines.iter().map(|line| rate(hits(&line.stats), line.stats.query_count)))
        .f64s(lines.iter().map(|line| rate(line.stats.found_count, line.stats.query_count)))
        .u64s(lines.iter().map(|line| line.stats.element_count))
        .f64s(lines.iter().map(|line| line.stats.load_factor))
        .strings(lines.iter().map(|line| line.entry.source_text()))
        .u64s(lines.iter().map(|line| line.entry.lifetime().min_seconds))
        .u64s(lines.iter().map(|line| line.entry.lifetime().max_seconds))
        .u32s(lines.iter().map(|line| seconds(line.state.loading_start_us)))
        .u32s(lines.iter().map(|line| seconds(line.state.last_update_us)))
        .u64s(lines.iter().map(|line| line.state.error_count))
        .push(Arc::new(arrow::array::Float32Array::from_iter_values(
            lines.iter().map(|line| line.loading_seconds(now_us) as f32),
        )))
        .strings(lines.iter().map(|line| line.state.last_exception()))
        .strings(lines.iter().map(|line| line.entry.create().comment.unwrap_or_default()))
        .u64s(lines.iter().map(|line| line.state.rows_read))
        .strings(lines.iter().map(|line| line.state.step.name()));
}

/// `SPARSE_HASHED` as the column `type` shows it: `SparseHashed`.
fn type_name(layout: &str) -> String {
    match layout {
        "COMPLEX_KEY_HASHED_ARRAY" => return "ComplexHashedArray".to_owned(),
        "SSD_CACHE" => return "SSDCache".to_owned(),
        "COMPLEX_KEY_SSD_CACHE" => return "SSDComplexKeyCache".to_owned(),
        "IP_TRIE" => return "Trie".to_owned(),
        "REGEXP_TREE" => return "RegExpTree".to_owned(),
        polygon if polygon.starts_with("POLYGON") => return "Polygon".to_owned(),
        _ => {}
    }
    let word = |word: &str| {
        let (first, rest) = word.split_at(1);
        format!("{first}{}", rest.to_ascii_lowercase())
    };
    layout.split('_').filter(|part| !part.is_empty()).map(word).collect()
}
