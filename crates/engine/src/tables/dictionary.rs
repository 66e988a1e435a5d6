//! `ENGINE = Dictionary('database.name')`: columns of a dictionary under the name of a table.

use std::sync::Arc;

use basalt_base::{Columns, Error, Result, bail};
use basalt_sql::ast::{Expr, Literal};
use parking_lot::RwLock;

use super::{DictionaryRows, Table, TableDefinition};
use crate::catalog::{CatalogObject, CatalogStore};
use crate::dictionaries::{DictionaryEntry, split_name};
use crate::query::QueryContext;
use crate::scan::{BlockSource, ScanRequest};
use crate::table_functions::dictionary_table;

/// A table without rows of its own.
pub(crate) struct DictionaryTable {
    definition: RwLock<Arc<TableDefinition>>,
    /// Database and name.
    dictionary: (String, String),
}

impl DictionaryTable {
    pub(crate) fn open(definition: Arc<TableDefinition>) -> Result<DictionaryTable> {
        let args = definition.create.engine.as_ref().map(|engine| engine.args.as_slice()).unwrap_or_default();
        let name = match args {
            [Expr::Literal(Literal::String(name))] => String::from_utf8_lossy(name).into_owned(),
            [Expr::Identifier(parts)] => parts.join("."),
            _ => bail!(
                NumberOfArgumentsDoesntMatch,
                "engine Dictionary takes one argument, the name of a dictionary"
            ),
        };
        let dictionary = split_name(&name, &definition.database);
        Ok(DictionaryTable { definition: RwLock::new(definition), dictionary })
    }

    fn entry(&self, catalog: &CatalogStore) -> Result<Arc<DictionaryEntry>> {
        let (database, name) = &self.dictionary;
        match catalog.find(database, name) {
            Some(CatalogObject::Dictionary(entry)) => Ok(entry),
            _ => bail!(BadArguments, "dictionary `{database}.{name}` does not exist"),
        }
    }
}

/// Where the table's columns are among those of the dictionary.
fn positions(columns: &Columns, known: &Columns) -> Result<Vec<usize>> {
    let position = |column: &basalt_base::Column| {
        let found = known.position(&column.name).filter(|&at| known[at].ty == column.ty);
        found.ok_or_else(|| {
            let all: Vec<String> =
                known.iter().map(|known| format!("`{}` {}", known.name, known.ty)).collect();
            let all = all.join(", ");
            Error::new(
                basalt_base::ErrorCode::ThereIsNoColumn,
                format!("the dictionary has no column `{}` {}, it has {all}", column.name, column.ty),
            )
        })
    };
    columns.iter().map(position).collect()
}

impl Table for DictionaryTable {
    fn engine(&self) -> &'static str {
        "Dictionary"
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition.read())
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        *self.definition.write() = definition;
        Ok(())
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        let query = &request.query;
        let entry = self.entry(query.engine.catalog())?;
        let stored = self.definition().stored();
        let positions = positions(&stored, &entry.columns())?;
        let schema = Arc::new(stored.to_arrow().project(&request.columns).map_err(Error::logical)?);
        let columns = request.columns.iter().map(|&at| positions[at]).collect();
        let dictionary = entry.get(&query.load_host(), &query.load_chain, query.status())?;
        Ok(Arc::new(DictionaryRows::new(dictionary, columns, schema, request)))
    }

    fn finder(&self, query: &Arc<QueryContext>) -> Result<Option<Arc<dyn Table>>> {
        let entry = self.entry(query.engine.catalog())?;
        positions(&self.definition().stored(), &entry.columns())?;
        dictionary_table(&entry, query).map(Some)
    }

    fn source(&self) -> Option<(String, String)> {
        Some(self.dictionary.clone())
    }

    fn check_source(&self, catalog: &CatalogStore) -> Result<()> {
        positions(&self.definition().stored(), &self.entry(catalog)?.columns()).map(|_| ())
    }
}
