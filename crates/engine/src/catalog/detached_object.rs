//! Objects that are detached.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use basalt_base::Result;
use basalt_sql::ast::{ObjectKind, Statement};
use uuid::Uuid;

use super::metadata_file::StoredObject;
use super::object::CatalogObject;
use crate::dictionaries::DictionaryEntry;
use crate::tables::Table;

/// By database, then by name of the object.
pub(super) type DetachedObjects = BTreeMap<String, BTreeMap<String, Arc<DetachedObject>>>;

/// A detached object.
pub(crate) struct DetachedObject {
    pub(crate) uuid: Uuid,
    /// The statement of its metadata file.
    statement: String,
    pub(crate) is_permanent: bool,
    user: User,
}

/// The object that a query from before DETACH may still hold.
enum User {
    Table(Weak<dyn Table>),
    Dictionary(Weak<DictionaryEntry>),
    Nobody,
}

impl DetachedObject {
    /// An object that was detached before the process began, from its metadata file.
    pub(super) fn stored(stored: &StoredObject) -> DetachedObject {
        DetachedObject {
            uuid: stored.uuid,
            statement: stored.statement.clone(),
            is_permanent: true,
            user: User::Nobody,
        }
    }

    pub(super) fn of(object: &CatalogObject, stored: &StoredObject) -> DetachedObject {
        let user = match object {
            CatalogObject::Table(table) => User::Table(Arc::downgrade(table)),
            CatalogObject::Dictionary(dictionary) => User::Dictionary(Arc::downgrade(dictionary)),
            CatalogObject::View(_) | CatalogObject::Broken(_) => User::Nobody,
        };
        DetachedObject { user, is_permanent: stored.is_detached, ..DetachedObject::stored(stored) }
    }

    /// Whether a query, a merge or a load still works on it.
    pub(crate) fn is_used(&self) -> bool {
        match &self.user {
            User::Table(table) => table.strong_count() > 0,
            User::Dictionary(dictionary) => dictionary.strong_count() > 0,
            User::Nobody => false,
        }
    }

    /// Dictionary or table: a view is attached as a table.
    pub(crate) fn kind(&self) -> Result<ObjectKind> {
        Ok(match self.parsed()? {
            Statement::CreateDictionary(_) => ObjectKind::Dictionary,
            _ => ObjectKind::Table,
        })
    }

    /// Its statement as SHOW CREATE prints it.
    pub(crate) fn shown_statement(&self) -> Result<String> {
        Ok(match self.parsed()? {
            Statement::CreateDictionary(create) => format!("{:#}", create.without_secrets()),
            other => other.to_string(),
        })
    }

    fn parsed(&self) -> Result<Statement> {
        Ok(basalt_sql::parse_statement(self.statement.as_bytes())?)
    }

    pub(super) fn table(&self) -> Option<Weak<dyn Table>> {
        match &self.user {
            User::Table(table) => Some(Weak::clone(table)),
            _ => None,
        }
    }
}

/// By name of the database: its objects, some of which queries may still hold.
pub(super) type DetachedDatabases = BTreeMap<String, Vec<Arc<DetachedObject>>>;
