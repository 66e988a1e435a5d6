//! The source CLICKHOUSE: a table or a query of this database.
//!
//! All rows are read by a query. If the table has the types of the dictionary, the rows of keys are read from the
//! table directly: by its lookup (a key/value table), or by a scan pruned by its key. Otherwise by a query.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::row::{RowConverter, SortField};
use basalt_base::{Column, Columns, Error, Result, SqlType, bail};
use basalt_dict::Located;
use basalt_parts::Predicate;

use super::super::host::SourceQuery;
use super::row_source::UpdateField;
use super::select::{Dialect, From, Select};
use super::{Blocks, LoadRequest, RowRange, RowSource};
use crate::scan::{ColumnCondition, ScanRequest, ValueSet, sorted_points};
use crate::tables::Table;

/// Keys in one IN list of a query.
const KEYS_A_QUERY: usize = 8192;

/// The greatest length of the answer to an INVALIDATE_QUERY.
const REVISION_BYTES_MAX: usize = 1 << 20;

/// A table or a query of this database.
#[derive(Debug)]
pub(super) struct TableSource {
    select: Select,
}

/// A table, and the positions of the dictionary's columns among its stored columns.
type PlacedTable = (Arc<dyn Table>, Vec<usize>);

impl TableSource {
    pub(super) fn new(select: Select) -> TableSource {
        TableSource { select }
    }

    /// The source table and the positions of the dictionary's columns in it; `None` if a query is needed.
    fn plain_table(&self, load: &LoadRequest) -> Result<Option<PlacedTable>> {
        if !load.expressions.is_empty() {
            return Ok(None);
        }
        let (From::Table(database, table), None) = (&self.select.from, &self.select.filter) else {
            return Ok(None);
        };
        let database = database.as_deref().unwrap_or(&load.database);
        let Some(table) = load.host.table(database, table)? else { return Ok(None) };
        let stored = table.definition().stored();
        let positions = load
            .columns
            .iter()
            .map(|column| {
                stored.position(&column.name).filter(|&at| stored[at].ty.full() == column.ty.full())
            })
            .collect::<Option<Vec<usize>>>();
        Ok(positions.map(|positions| (table, positions)))
    }

    fn query(&self, load: &LoadRequest, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let rows = keys.first().map_or(0, |key| key.len());
        let mut found = Vec::new();
        for first in (0..rows).step_by(KEYS_A_QUERY) {
            let count = KEYS_A_QUERY.min(rows - first);
            let keys: Vec<ArrayRef> = keys.iter().map(|key| key.slice(first, count)).collect();
            let text = self.select.text_of_keys(Dialect::ClickHouse, load, &keys)?;
            found.extend(load.run_sql(load.query(&text), &load.columns)?.collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }
}

impl RowSource for TableSource {
    fn describe(&self, database: &str) -> String {
        match &self.select.from {
            From::Table(own, table) => {
                format!("ClickHouse: {}.{table}", own.as_deref().unwrap_or(database))
            }
            From::Query(_) => "ClickHouse: query".to_owned(),
        }
    }

    fn table(&self, database: &str) -> Option<(String, String)> {
        match &self.select.from {
            From::Table(own, table) => Some((own.as_deref().unwrap_or(database).to_owned(), table.clone())),
            From::Query(_) => None,
        }
    }

    fn rows(&self, load: &LoadRequest, range: RowRange) -> Result<Blocks> {
        let text = self.select.text(Dialect::ClickHouse, load, range);
        let columns = load.columns_of_rows(self.tells_update_time());
        let query = SourceQuery { reads_once: true, ..load.query(&text) };
        let blocks = load.run_sql(query, &columns)?;
        let whence = self.describe(&load.database);
        Ok(Box::new(blocks.map(move |block| block.map_err(|error| error.within(&whence)))))
    }

    fn rows_of(&self, load: &LoadRequest, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
        let Some((table, positions)) = self.plain_table(load)? else {
            return self.query(load, keys);
        };
        if let Some(keyed) = table.as_keyed().filter(|keyed| *keyed.lookup_key() == positions[..keys.len()]) {
            let threads = Arc::clone(&load.host).context(load.query("")).threads();
            let found = keyed.lookup(keys, &positions, threads)?;
            return Ok(vec![found.rows.columns().to_vec()]);
        }
        scan(load, table.as_ref(), &positions, keys)
    }

    fn locate(
        &self,
        load: &LoadRequest,
        keys: &[ArrayRef],
        attributes: &[usize],
        threads_max: usize,
    ) -> Result<Option<Located>> {
        let Some((table, positions)) = self.plain_table(load)? else { return Ok(None) };
        let (key, values) = positions.split_at(keys.len());
        let Some(keyed) = table.as_keyed().filter(|keyed| keyed.lookup_key() == key) else {
            return Ok(None);
        };
        let wanted: Vec<usize> = attributes.iter().map(|&attribute| values[attribute]).collect();
        let found = keyed.lookup(keys, &wanted, threads_max)?;
        Ok(Some(Located { values: found.rows.columns().to_vec(), row_of_key: found.row_of_key }))
    }

    fn prefers_large_blocks(&self, load: &LoadRequest) -> bool {
        let Ok(Some((table, positions))) = self.plain_table(load) else { return false };
        let keyed = table.as_keyed();
        let keyed = keyed.filter(|keyed| *keyed.lookup_key() == positions[..load.key_count()]);
        keyed.is_some_and(|keyed| keyed.prefers_large_blocks())
    }

    fn takes_expressions(&self) -> bool {
        true
    }

    fn update_field(&self) -> Option<&UpdateField> {
        self.select.update.as_ref()
    }

    fn revision(&self, load: &LoadRequest) -> Result<Option<String>> {
        let Some(text) = &self.select.invalidate_query else { return Ok(None) };
        let columns: Columns = [Column::new("revision", SqlType::String)].into_iter().collect();
        // One text, whatever the columns and rows of the query are.
        let text = format!("SELECT toString(groupArray(tuple(*))) FROM ({text})");
        let mut revision = String::new();
        for block in Arc::clone(&load.host).run_sql(load.query(&text), &columns, 0)? {
            let block = block?;
            let texts = block[0].as_binary_view();
            for text in texts.iter().flatten() {
                revision.push_str(&String::from_utf8_lossy(text));
                if revision.len() > REVISION_BYTES_MAX {
                    bail!(
                        TooManyRows,
                        "the answer to INVALIDATE_QUERY has more than {REVISION_BYTES_MAX} bytes"
                    );
                }
            }
        }
        Ok(Some(revision))
    }
}

/// The rows of `keys` by a scan that the table's key prunes.
fn scan(
    load: &LoadRequest,
    table: &dyn Table,
    positions: &[usize],
    keys: &[ArrayRef],
) -> Result<Vec<Vec<ArrayRef>>> {
    let conditions = keys
        .iter()
        .zip(positions)
        .map(|(key, &column)| Ok(ColumnCondition { column, values: ValueSet::Points(sorted_points(key)?) }))
        .collect::<Result<Vec<_>>>()?;
    let request = ScanRequest {
        virtual_from: table.definition().stored().len(),
        stored: table.definition().stored(),
        columns: positions.to_vec(),
        conditions,
        predicate: Predicate::Any,
        texts: Vec::new(),
        filters: Vec::new(),
        limit: None,
        numbers: Vec::new(),
        query: Arc::clone(&load.host).context(load.query("dictGet of a DIRECT dictionary")),
    };
    let source = table.scan(&request)?;
    let wanted = KeySet::of(keys)?;
    let mut found = Vec::new();
    for partition in 0..source.partition_count() {
        for block in source.open(partition)? {
            let block = block?;
            let keeps = wanted.contains(&block.columns()[..keys.len()])?;
            let block = filter_record_batch(&block, &keeps).map_err(Error::of_arrow)?;
            if block.num_rows() > 0 {
                found.push(block.columns().to_vec());
            }
        }
    }
    Ok(found)
}

/// A set of keys of any types, as the bytes of their rows.
struct KeySet {
    converter: RowConverter,
    rows: HashSet<Box<[u8]>>,
}

impl KeySet {
    fn of(keys: &[ArrayRef]) -> Result<KeySet> {
        let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(Error::of_arrow)?;
        let rows = converter.convert_columns(keys).map_err(Error::of_arrow)?;
        let rows = rows.iter().map(|row| Box::from(row.as_ref())).collect();
        Ok(KeySet { converter, rows })
    }

    fn contains(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        let rows = self.converter.convert_columns(keys).map_err(Error::of_arrow)?;
        Ok(rows.iter().map(|row| Some(self.rows.contains(row.as_ref()))).collect())
    }
}
