//! `dictionary('name')`, and a dictionary's own name in FROM: all its rows, or those of some keys.

use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Columns, Error, Result, bail};
use basalt_dict::Dictionary;

use super::arguments::Arguments;
use crate::catalog::CatalogObject;
use crate::context::QueryContext;
use crate::dictionaries::{DictionaryEntry, LoadHost};
use crate::execution::Execution;
use crate::instance::Instance;
use crate::names::{ObjectKey, split_name};
use crate::tables::{DictionaryResolver, DictionaryRows, FindsRows, Found, Table, VirtualTable};

pub(super) fn dictionary(args: &Arguments<'_>, query: &Arc<Execution>) -> Result<Arc<dyn Table>> {
    args.check_count(1, 1)?;
    let name = args.text(0)?;
    let (database, name) = split_name(&name, &query.database);
    query.check_known(&ObjectKey { database: database.clone(), name: name.clone() })?;
    dictionary_table(&query.instance.catalog().dictionary(&database, &name)?, query)
}

/// The rows of a dictionary as a table.
pub(crate) fn dictionary_table(
    entry: &Arc<DictionaryEntry>,
    query: &Arc<Execution>,
) -> Result<Arc<dyn Table>> {
    let (columns, positions) = entry.shown_columns();
    let (key_count, is_keyed) = (entry.key_count(), entry.finds_by_key());
    let (entry, query) = (Arc::clone(entry), Arc::clone(query));
    let schema = columns.to_arrow();
    let (database, name) = entry.name();
    let rows = Arc::new(Rows { entry, query, schema, loaded: OnceLock::new() });
    let of_scan = Arc::clone(&rows);
    let table = VirtualTable::new("Dictionary", &database, &name, &columns, move |request| {
        let schema = Arc::new(of_scan.schema.project(&request.columns).map_err(Error::of_arrow)?);
        let columns = request.columns.iter().map(|&column| positions[column]).collect();
        Ok(Arc::new(DictionaryRows::new(Arc::clone(of_scan.dictionary()?), columns, schema, request)))
    })?;
    Ok(Arc::new(if is_keyed { table.with_lookup((0..key_count).collect(), rows) } else { table }))
}

impl DictionaryResolver for Instance {
    fn columns(&self, database: &str, name: &str) -> Result<Columns> {
        Ok(dictionary_of(self, database, name)?.columns())
    }

    fn load(
        self: Arc<Self>,
        database: &str,
        name: &str,
        query: &QueryContext,
    ) -> Result<Arc<dyn Dictionary>> {
        let entry = dictionary_of(&self, database, name)?;
        let host: Arc<dyn LoadHost> = self;
        entry.get(&host, &query.load_chain, query.status())
    }

    fn table(
        self: Arc<Self>,
        database: &str,
        name: &str,
        query: &Arc<QueryContext>,
    ) -> Result<Arc<dyn Table>> {
        let entry = dictionary_of(&self, database, name)?;
        dictionary_table(&entry, &Execution::new(&self, Arc::clone(query)))
    }
}

/// The dictionary that a table names.
fn dictionary_of(instance: &Instance, database: &str, name: &str) -> Result<Arc<DictionaryEntry>> {
    match instance.catalog().find(database, name) {
        Some(CatalogObject::Dictionary(entry)) => Ok(entry),
        _ => bail!(BadArguments, "dictionary `{database}.{name}` does not exist"),
    }
}

/// The dictionary of one query.
struct Rows {
    entry: Arc<DictionaryEntry>,
    query: Arc<Execution>,
    /// The schema of its columns: keys, then attributes.
    schema: SchemaRef,
    /// One version answers the whole query.
    loaded: OnceLock<Arc<dyn Dictionary>>,
}

impl Rows {
    fn dictionary(&self) -> Result<&Arc<dyn Dictionary>> {
        if let Some(dictionary) = self.loaded.get() {
            return Ok(dictionary);
        }
        let query = &self.query;
        let dictionary = self.entry.get(&query.load_host(), &query.load_chain, query.status())?;
        Ok(self.loaded.get_or_init(|| dictionary))
    }
}

impl FindsRows for Arc<Rows> {
    fn prepare(&self) -> Result<()> {
        self.dictionary().map(|_| ())
    }

    /// One row for each key; missing keys have default values.
    fn find(&self, keys: &[ArrayRef], columns: &[usize], threads_max: usize) -> Result<Found> {
        let is_attribute = |column: &&usize| **column >= keys.len();
        let attributes: Vec<usize> =
            columns.iter().filter(is_attribute).map(|column| column - keys.len()).collect();
        let dictionary = self.dictionary()?;
        let (values, found) = (match dictionary.on_threads(threads_max) {
            Some(dictionary) => dictionary.get(&attributes, keys),
            None => dictionary.get(&attributes, keys),
        })?;
        let mut values = values.into_iter();
        let arrays: Vec<ArrayRef> = columns
            .iter()
            .map(|&column| match keys.get(column) {
                Some(key) => Ok(Arc::clone(key)),
                None => values.next().ok_or_else(|| Error::logical("a lookup gave too few attributes")),
            })
            .collect::<Result<_>>()?;
        let schema = Arc::new(self.schema.project(columns).map_err(Error::of_arrow)?);
        let options = RecordBatchOptions::new().with_row_count(Some(found.len()));
        let rows = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(Error::of_arrow)?;
        let row_of_key = (0..found.len()).map(|row| found.value(row).then_some(row as u32)).collect();
        Ok(Found { rows, row_of_key })
    }

    fn prefers_large_blocks(&self) -> bool {
        self.loaded.get().is_some_and(|dictionary| dictionary.prefers_large_blocks())
    }
}
