//! An object of the catalog: a table, a view, a dictionary, or one that could not be opened.

use std::sync::Arc;

use basalt_base::{Column, Error, Result};
use basalt_parts::ColumnHistory;
use basalt_sql::ast::{self, ObjectName};
use basalt_sql::hide_passwords;
use uuid::Uuid;

use super::metadata_file::StoredObject;
use crate::dictionaries::DictionaryEntry;
use crate::settings::MergeTreeSettings;
use crate::tables::{Table, TableDefinition};

/// An object of the catalog.
#[derive(Clone)]
pub(crate) enum CatalogObject {
    Table(Arc<dyn Table>),
    View(Arc<ViewDefinition>),
    Dictionary(Arc<DictionaryEntry>),
    /// Its metadata exists, but it could not be opened; every use returns the error.
    Broken(Arc<BrokenObject>),
}

/// A stored query.
pub(crate) struct ViewDefinition {
    pub(crate) uuid: Uuid,
    pub(crate) create: ast::CreateView,
    /// The columns of its result when it was made.
    pub(crate) columns: Vec<Column>,
}

/// Something that could not be opened.
pub(crate) struct BrokenObject {
    pub(crate) uuid: Uuid,
    pub(crate) statement: String,
    pub(crate) error: Error,
}

/// The contents of the metadata file of a table.
pub(super) fn stored_table(definition: &TableDefinition) -> StoredObject {
    let statement = ast::Statement::CreateTable(Box::new(definition.create.clone())).to_string();
    let history = definition.history.clone();
    let (name, uuid) = (definition.name.clone(), definition.uuid);
    StoredObject { name, uuid, statement, history, is_detached: false }
}

/// The statement with the one setting that ClickHouse shows of every table of parts.
fn with_granularity(create: &ast::CreateTable) -> ast::CreateTable {
    const NAME: &str = "index_granularity";
    let mut create = create.clone();
    let is_of_parts = create.engine.as_ref().is_some_and(|engine| engine.name.ends_with("MergeTree"));
    if is_of_parts && create.settings.iter().all(|setting| setting.name != NAME) {
        let rows = MergeTreeSettings::default().index_granularity;
        create.settings.push(ast::Setting { name: NAME.to_owned(), value: ast::Literal::UInt(rows) });
    }
    create
}

impl CatalogObject {
    pub(crate) fn uuid(&self) -> Uuid {
        match self {
            CatalogObject::Table(table) => table.definition().uuid,
            CatalogObject::View(view) => view.uuid,
            CatalogObject::Dictionary(dictionary) => dictionary.uuid(),
            CatalogObject::Broken(broken) => broken.uuid,
        }
    }

    /// Its kind, as messages name it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            CatalogObject::Table(_) => "table",
            CatalogObject::View(_) => "view",
            CatalogObject::Dictionary(_) => "dictionary",
            CatalogObject::Broken(_) => "broken table",
        }
    }

    /// The engine that `system.tables` shows.
    pub(crate) fn engine(&self) -> &'static str {
        match self {
            CatalogObject::Table(table) => table.engine(),
            CatalogObject::View(_) => "View",
            CatalogObject::Dictionary(_) => "Dictionary",
            CatalogObject::Broken(_) => "",
        }
    }

    /// [`CatalogObject::create_statement`] as SHOW CREATE prints it: that of a table or a dictionary in lines.
    pub(crate) fn shown_statement(&self) -> String {
        match self {
            CatalogObject::Table(table) => format!("{:#}", with_granularity(&table.definition().create)),
            CatalogObject::Dictionary(dictionary) => format!("{:#}", dictionary.create().without_secrets()),
            other => other.create_statement(),
        }
    }

    /// ENGINE and the clauses after it, without ENGINE itself; empty for what has no engine.
    pub(crate) fn engine_clauses(&self) -> String {
        let CatalogObject::Table(table) = self else { return String::new() };
        let shown = with_granularity(&table.definition().create);
        let name = ObjectName { database: None, name: "t".to_owned() };
        let bare = ast::CreateTable { name, elements: Vec::new(), comment: None, source: None, ..shown };
        let text = ast::Statement::CreateTable(Box::new(bare)).to_string();
        text.split_once("ENGINE = ").map(|(_, clauses)| clauses.to_owned()).unwrap_or_default()
    }

    /// The statement that makes it, without passwords.
    pub(crate) fn create_statement(&self) -> String {
        match self {
            CatalogObject::Table(table) => {
                ast::Statement::CreateTable(Box::new(table.definition().create.clone())).to_string()
            }
            CatalogObject::View(view) => {
                let statement = ast::Statement::CreateView(Box::new(view.create.clone())).to_string();
                hide_passwords(&statement).unwrap_or(statement)
            }
            CatalogObject::Dictionary(dictionary) => dictionary.create().without_secrets().to_string(),
            CatalogObject::Broken(broken) => broken.statement.clone(),
        }
    }

    /// The contents of its metadata file under this name.
    pub(super) fn stored_as(&self, database: &str, name: &str) -> Result<StoredObject> {
        let full = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
        let statement = match self {
            CatalogObject::Table(table) => {
                let create = ast::CreateTable { name: full, ..table.definition().create.clone() };
                ast::Statement::CreateTable(Box::new(create))
            }
            CatalogObject::View(view) => {
                let create = ast::CreateView { name: full, ..view.create.clone() };
                ast::Statement::CreateView(Box::new(create))
            }
            CatalogObject::Dictionary(dictionary) => {
                let create = ast::CreateDictionary { name: full, ..dictionary.create() };
                ast::Statement::CreateDictionary(Box::new(create))
            }
            CatalogObject::Broken(broken) => return Err(broken.error.clone()),
        };
        let history = match self {
            CatalogObject::Table(table) => table.definition().history.clone(),
            _ => ColumnHistory::default(),
        };
        let (name, statement) = (name.to_owned(), statement.to_string());
        Ok(StoredObject { name, uuid: self.uuid(), statement, history, is_detached: false })
    }

    /// The same object under another name.
    pub(super) fn renamed(&self, database: &str, name: &str) -> Result<CatalogObject> {
        let full = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
        Ok(match self {
            CatalogObject::Table(table) => {
                let mut definition = table.definition().as_ref().clone();
                database.clone_into(&mut definition.database);
                name.clone_into(&mut definition.name);
                definition.create.name = full;
                table.set_definition(Arc::new(definition))?;
                CatalogObject::Table(Arc::clone(table))
            }
            CatalogObject::View(view) => {
                let mut create = view.create.clone();
                create.name = full;
                CatalogObject::View(Arc::new(ViewDefinition {
                    uuid: view.uuid,
                    create,
                    columns: view.columns.clone(),
                }))
            }
            CatalogObject::Dictionary(dictionary) => {
                dictionary.rename(database, name);
                CatalogObject::Dictionary(Arc::clone(dictionary))
            }
            CatalogObject::Broken(broken) => return Err(broken.error.clone()),
        })
    }
}
