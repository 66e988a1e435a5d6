//! `dictionary('name')`, and a dictionary's own name in FROM: all its rows.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Error, Result};

use super::Arguments;
use crate::catalog::CatalogObject;
use crate::dictionaries::{DictionaryEntry, split_name};
use crate::query::QueryContext;
use crate::scan::MemorySource;
use crate::tables::{Table, VirtualTable};

pub(super) fn dictionary(args: &Arguments<'_>, query: &Arc<QueryContext>) -> Result<Arc<dyn Table>> {
    args.check_count(1, 1)?;
    let name = args.text(0)?;
    let (database, name) = split_name(&name, &query.database);
    match query.engine.catalog().get(&database, &name)? {
        CatalogObject::Dictionary(entry) => dictionary_table(&entry, query),
        other => Err(Error::not_implemented(format!("dictionary() over a {}", other.kind()))),
    }
}

/// The rows of a dictionary as a table.
pub(crate) fn dictionary_table(
    entry: &Arc<DictionaryEntry>,
    query: &Arc<QueryContext>,
) -> Result<Arc<dyn Table>> {
    let columns = entry.columns();
    let (entry, query) = (Arc::clone(entry), Arc::clone(query));
    let schema = columns.to_arrow();
    let (database, name) = entry.name();
    let table = VirtualTable::new("Dictionary", &database, &name, &columns, move |request| {
        let blocks = entry.get(&query.engine, &query.asking)?.scan()?;
        let blocks = blocks
            .into_iter()
            .map(|mut arrays| {
                // The prefix of an IP_TRIE may be an attribute as well.
                arrays.truncate(schema.fields().len());
                let block = RecordBatch::try_new(Arc::clone(&schema), arrays);
                block.and_then(|block| block.project(&request.columns)).map_err(Error::logical)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(MemorySource::deal(blocks, request, "rows of a dictionary"))
    })?;
    Ok(Arc::new(table))
}
