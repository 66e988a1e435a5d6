//! `ENGINE = Dictionary('database.name')`: columns of a dictionary under the name of a table.

use std::sync::{Arc, OnceLock, Weak};

use basalt_base::{Columns, Error, Result, bail};
use basalt_dict::Dictionary;
use basalt_sql::ast::{Expr, Literal};
use parking_lot::RwLock;

use super::capability::DerivedTable;
use super::definition::TableDefinition;
use super::dictionary_rows::DictionaryRows;
use super::table::Table;
use crate::context::QueryContext;
use crate::names::split_name;
use crate::scan::{BlockSource, ScanRequest};

/// A table without rows of its own.
pub(crate) struct DictionaryTable {
    definition: RwLock<Arc<TableDefinition>>,
    /// Database and name.
    dictionary: (String, String),
    link: Arc<DictionaryLink>,
}

/// The dictionaries of the database, as tables see them.
pub(crate) trait DictionaryResolver: Send + Sync {
    /// The columns of a dictionary; an error if there is none of this name.
    fn columns(&self, database: &str, name: &str) -> Result<Columns>;

    /// Its version for a query, loaded if there is none yet.
    fn load(self: Arc<Self>, database: &str, name: &str, query: &QueryContext)
    -> Result<Arc<dyn Dictionary>>;

    /// Its rows as a table with a lookup by key.
    fn table(
        self: Arc<Self>,
        database: &str,
        name: &str,
        query: &Arc<QueryContext>,
    ) -> Result<Arc<dyn Table>>;
}

/// Where tables find the dictionaries: set once, when the database that they share is open.
#[derive(Default)]
pub(crate) struct DictionaryLink {
    resolver: OnceLock<Weak<dyn DictionaryResolver>>,
}

impl DictionaryLink {
    /// Only the first call has an effect.
    pub(crate) fn set(&self, resolver: &Arc<dyn DictionaryResolver>) {
        let _ = self.resolver.set(Arc::downgrade(resolver));
    }

    fn resolver(&self) -> Result<Arc<dyn DictionaryResolver>> {
        let resolver = self.resolver.get().and_then(Weak::upgrade);
        resolver.ok_or_else(|| Error::logical("a table was used before its database was open"))
    }
}

impl DictionaryTable {
    pub(crate) fn open(
        definition: Arc<TableDefinition>,
        link: &Arc<DictionaryLink>,
    ) -> Result<DictionaryTable> {
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
        Ok(DictionaryTable { definition: RwLock::new(definition), dictionary, link: Arc::clone(link) })
    }

    fn resolver(&self) -> Result<Arc<dyn DictionaryResolver>> {
        self.link.resolver()
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
        let (database, name) = &self.dictionary;
        let resolver = self.resolver()?;
        let stored = self.definition().stored();
        let positions = positions(&stored, &resolver.columns(database, name)?)?;
        let schema = Arc::new(stored.to_arrow().project(&request.columns).map_err(Error::logical)?);
        let columns = request.columns.iter().map(|&at| positions[at]).collect();
        let dictionary = resolver.load(database, name, &request.query)?;
        Ok(Arc::new(DictionaryRows::new(dictionary, columns, schema, request)))
    }

    fn as_derived(&self) -> Option<&dyn DerivedTable> {
        Some(self)
    }
}

impl DerivedTable for DictionaryTable {
    fn source(&self) -> (String, String) {
        self.dictionary.clone()
    }

    fn check_source(&self) -> Result<()> {
        let (database, name) = &self.dictionary;
        positions(&self.definition().stored(), &self.resolver()?.columns(database, name)?).map(|_| ())
    }

    fn finder(&self, query: &Arc<QueryContext>) -> Result<Arc<dyn Table>> {
        self.check_source()?;
        let (database, name) = &self.dictionary;
        self.resolver()?.table(database, name, query)
    }
}
