//! Reads the rows of a dictionary's source: all of them, or those of some keys.
//!
//! All rows come by a query. The rows of some keys come straight from the table where its types are
//! the dictionary's: by its own look-up (a key/value table), or by a scan of what its key leaves; by
//! a query otherwise.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::row::{RowConverter, SortField};
use basalt_base::types::quote_identifier;
use basalt_base::{Columns, Error, ErrorCode, Result};
use basalt_dict::DirectSource;
use basalt_formats::TextSettings;
use basalt_formats::text::{Style, ValueWriter};
use basalt_parts::Predicate;

use super::definition::SourceSpec;
use crate::Engine;
use crate::catalog::CatalogObject;
use crate::query::{QueryContext, run_typed};
use crate::scan::{ColumnCondition, ScanRequest, ValueSet, sorted_points};
use crate::tables::Table;

/// Keys in one IN list of a query.
const KEYS_A_QUERY: usize = 8192;

/// The source in words, for `system.dictionaries`.
pub(super) fn describe(source: &SourceSpec, database: &str) -> String {
    match source {
        SourceSpec::Table { database: own, table, .. } => {
            format!("ClickHouse: {}.{table}", own.as_deref().unwrap_or(database))
        }
        SourceSpec::Query(_) => "ClickHouse: query".to_owned(),
    }
}

/// The table that the source names; without a database, it is in the dictionary's.
pub(super) fn table_of(source: &SourceSpec, database: &str) -> Option<(String, String)> {
    match source {
        SourceSpec::Table { database: own, table, .. } => {
            Some((own.as_deref().unwrap_or(database).to_owned(), table.clone()))
        }
        SourceSpec::Query(_) => None,
    }
}

/// All rows as blocks of `columns`.
pub(super) fn all_rows(
    engine: &Arc<Engine>,
    source: &SourceSpec,
    database: &str,
    columns: &Columns,
) -> Result<impl Iterator<Item = Result<Vec<ArrayRef>>> + use<>> {
    let text = select_text(source, database, columns, None);
    let blocks = run_typed(&internal(engine, database, &text), &text, columns)?;
    Ok(blocks.map(|block| block.map(|block| block.columns().to_vec())))
}

fn internal(engine: &Arc<Engine>, database: &str, text: &str) -> Arc<QueryContext> {
    Arc::new(QueryContext::internal(engine, database, text))
}

fn select_text(source: &SourceSpec, database: &str, columns: &Columns, keys: Option<&str>) -> String {
    let list: Vec<String> = columns.iter().map(|column| quote_identifier(&column.name)).collect();
    let (from, filter) = match source {
        SourceSpec::Table { database: own, table, filter } => {
            let database = quote_identifier(own.as_deref().unwrap_or(database));
            (format!("{database}.{}", quote_identifier(table)), filter.clone())
        }
        SourceSpec::Query(query) => (format!("({query})"), None),
    };
    let conditions: Vec<String> =
        filter.iter().map(|filter| format!("({filter})")).chain(keys.map(str::to_owned)).collect();
    let filter =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    format!("SELECT {} FROM {from}{filter}", list.join(", "))
}

/// A table, and where the dictionary's columns are among its stored columns.
type PlacedTable = (Arc<dyn Table>, Vec<usize>);

/// The source of a DIRECT dictionary.
pub(super) struct KeyedSource {
    engine: Weak<Engine>,
    source: SourceSpec,
    database: String,
    columns: Columns,
    key_count: usize,
}

impl KeyedSource {
    pub(super) fn new(
        engine: &Arc<Engine>,
        source: SourceSpec,
        database: &str,
        columns: Columns,
        key_count: usize,
    ) -> KeyedSource {
        KeyedSource {
            engine: Arc::downgrade(engine),
            source,
            database: database.to_owned(),
            columns,
            key_count,
        }
    }

    /// The source table, and where the dictionary's columns are in it; `None` if a query is needed.
    fn plain_table(&self, engine: &Engine) -> Result<Option<PlacedTable>> {
        let SourceSpec::Table { database, table, filter: None } = &self.source else {
            return Ok(None);
        };
        let database = database.as_deref().unwrap_or(&self.database);
        let CatalogObject::Table(table) = engine.catalog().get(database, table)? else {
            return Ok(None);
        };
        let stored = table.definition().stored();
        let positions = self
            .columns
            .iter()
            .map(|column| {
                stored.position(&column.name).filter(|&at| stored[at].ty.full() == column.ty.full())
            })
            .collect::<Option<Vec<usize>>>();
        Ok(positions.map(|positions| (table, positions)))
    }

    fn scan(
        &self,
        engine: &Arc<Engine>,
        table: &dyn Table,
        positions: &[usize],
        keys: &[ArrayRef],
    ) -> Result<Vec<Vec<ArrayRef>>> {
        let conditions = keys
            .iter()
            .zip(positions)
            .map(|(key, &column)| {
                Ok(ColumnCondition { column, values: ValueSet::Points(sorted_points(key)?) })
            })
            .collect::<Result<Vec<_>>>()?;
        let query = internal(engine, &self.database, "dictGet of a DIRECT dictionary");
        let stored = table.definition().stored();
        let columns = positions.to_vec();
        let request = ScanRequest {
            stored,
            columns,
            conditions,
            predicate: Predicate::Any,
            filters: Vec::new(),
            limit: None,
            query,
        };
        let source = table.scan(&request)?;
        let wanted = KeySet::of(keys)?;
        let mut found = Vec::new();
        for partition in 0..source.partition_count() {
            for block in source.open(partition)? {
                let block = block?;
                let keeps = wanted.contains(&block.columns()[..self.key_count])?;
                let block = filter_record_batch(&block, &keeps).map_err(Error::logical)?;
                if block.num_rows() > 0 {
                    found.push(block.columns().to_vec());
                }
            }
        }
        Ok(found)
    }

    fn query(&self, engine: &Arc<Engine>, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let rows = keys.first().map_or(0, |key| key.len());
        let mut found = Vec::new();
        for first in (0..rows).step_by(KEYS_A_QUERY) {
            let count = KEYS_A_QUERY.min(rows - first);
            let list = self.key_list(keys, first, count)?;
            let text = select_text(&self.source, &self.database, &self.columns, Some(&list));
            let query = internal(engine, &self.database, &text);
            // The caller is an operator on a runtime thread: it steps aside while the query runs.
            let blocks = tokio::task::block_in_place(|| {
                run_typed(&query, &text, &self.columns)?.collect::<Result<Vec<RecordBatch>>>()
            })?;
            found.extend(blocks.into_iter().map(|block| block.columns().to_vec()));
        }
        Ok(found)
    }

    /// `(a, b) IN ((1, 'x'), (2, 'y'))`.
    fn key_list(&self, keys: &[ArrayRef], first: usize, count: usize) -> Result<String> {
        let settings = TextSettings::default();
        let writers = keys
            .iter()
            .zip(self.columns.iter())
            .map(|(key, column)| ValueWriter::new(&column.ty, key, &settings))
            .collect::<Result<Vec<_>>>()?;
        let names: Vec<String> =
            self.columns[..keys.len()].iter().map(|c| quote_identifier(&c.name)).collect();
        let mut list = format!("({}) IN (", names.join(", ")).into_bytes();
        for row in first..first + count {
            list.extend_from_slice(if row == first { b"(" } else { b",(" });
            for (index, writer) in writers.iter().enumerate() {
                if index > 0 {
                    list.push(b',');
                }
                writer.write(row, Style::Quoted, &mut list);
            }
            list.push(b')');
        }
        list.push(b')');
        String::from_utf8(list)
            .map_err(|_| Error::new(ErrorCode::BadArguments, "a key of a DIRECT dictionary is not UTF-8"))
    }
}

impl DirectSource for KeyedSource {
    fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let Some(engine) = self.engine.upgrade() else {
            return Err(Error::new(ErrorCode::QueryWasCancelled, "the engine is shut down"));
        };
        let Some((table, positions)) = self.plain_table(&engine)? else {
            return self.query(&engine, keys);
        };
        let (key_positions, _) = positions.split_at(self.key_count);
        if table.lookup_key() == key_positions {
            let block = table.lookup(keys, &positions)?;
            return Ok(vec![block.columns().to_vec()]);
        }
        self.scan(&engine, table.as_ref(), &positions, keys)
    }
}

/// A set of keys of any types, as the bytes of their rows.
struct KeySet {
    converter: RowConverter,
    rows: HashSet<Box<[u8]>>,
}

impl KeySet {
    fn of(keys: &[ArrayRef]) -> Result<KeySet> {
        let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(Error::logical)?;
        let rows = converter.convert_columns(keys).map_err(Error::logical)?;
        let rows = rows.iter().map(|row| Box::from(row.as_ref())).collect();
        Ok(KeySet { converter, rows })
    }

    fn contains(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        let rows = self.converter.convert_columns(keys).map_err(Error::logical)?;
        Ok(rows.iter().map(|row| Some(self.rows.contains(row.as_ref()))).collect())
    }
}
