//! An object from the statement in its metadata file.

use std::sync::Arc;

use basalt_base::{Column, Error, ErrorCode, Result};
use basalt_sql::ast::{self, Statement};
use uuid::Uuid;

use super::metadata_file::StoredObject;
use super::object::{CatalogObject, ViewDefinition};
use crate::dictionaries::DictionaryEntry;
use crate::tables::{TableOpener, definition_of};

/// Opens the object of a metadata file.
pub(super) fn read_object(
    database: &str,
    stored: &StoredObject,
    opener: &TableOpener,
) -> Result<CatalogObject> {
    match basalt_sql::parse_statement(stored.statement.as_bytes())? {
        Statement::CreateTable(create) => {
            let mut definition = definition_of(database, &stored.name, stored.uuid, *create)?;
            definition.history = stored.history.clone();
            Ok(CatalogObject::Table(opener.open(Arc::new(definition))?))
        }
        Statement::CreateView(create) => Ok(CatalogObject::View(Arc::new(view_of(stored.uuid, *create)?))),
        Statement::CreateDictionary(create) => {
            let entry =
                DictionaryEntry::new(database, &stored.name, stored.uuid, *create, &opener.collections)?;
            Ok(CatalogObject::Dictionary(Arc::new(entry)))
        }
        _ => Err(Error::new(ErrorCode::CorruptedData, "its metadata holds no CREATE statement")),
    }
}

/// A view from its statement, which lists its columns.
pub(crate) fn view_of(uuid: Uuid, create: ast::CreateView) -> Result<ViewDefinition> {
    let columns = create
        .columns
        .iter()
        .map(|column| match &column.ty {
            Some(ty) => Ok(Column::new(&column.name, basalt_sql::resolve_type(ty)?)),
            None => {
                Err(Error::new(ErrorCode::IncorrectQuery, format!("column `{}` has no type", column.name)))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(ViewDefinition { uuid, create, columns })
}
