//! Checks of the names in statements that change the catalog.

use basalt_base::{Column, Error, ErrorCode, Result, bail};
use basalt_sql::ast::{self, ObjectKind};

use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::names::{ObjectKey, check_name, is_built_in};

/// `true` if `key` is free for an object of `kind`, or OR REPLACE may free it. A taken name is an error, or `false`
/// under IF NOT EXISTS.
pub(super) fn is_free(
    query: &Execution,
    key: &ObjectKey,
    kind: ObjectKind,
    if_not_exists: bool,
    or_replace: bool,
) -> Result<bool> {
    if is_built_in(&key.database) {
        bail!(ReadOnly, "nothing can be created in the database `{}`", key.database);
    }
    check_name(if kind == ObjectKind::Dictionary { "dictionary" } else { "table" }, &key.name)?;
    let catalog = query.instance.catalog();
    catalog.require_database(&key.database)?;
    if if_not_exists && catalog.detached(key).is_some() {
        return Ok(false);
    }
    catalog.check_not_detached(key)?;
    match catalog.find(&key.database, &key.name) {
        None => Ok(true),
        Some(object) if or_replace => {
            let is_dictionary = matches!(object, CatalogObject::Dictionary(_));
            let is_broken = matches!(object, CatalogObject::Broken(_));
            if !is_broken && is_dictionary != (kind == ObjectKind::Dictionary) {
                let (database, name) = (&key.database, &key.name);
                bail!(IncorrectQuery, "`{database}.{name}` is a {}; drop it to replace it", object.kind());
            }
            Ok(true)
        }
        Some(_) if if_not_exists => Ok(false),
        Some(CatalogObject::Dictionary(_)) => {
            bail!(DictionaryAlreadyExists, "dictionary `{}.{}` already exists", key.database, key.name)
        }
        Some(object) => {
            bail!(TableAlreadyExists, "{} `{}.{}` already exists", object.kind(), key.database, key.name)
        }
    }
}

/// Checks that `DROP kind` or `DETACH kind`, as `verb` says, may name this object.
pub(super) fn check_kind(
    object: &CatalogObject,
    kind: ObjectKind,
    key: &ObjectKey,
    verb: &str,
) -> Result<()> {
    let fits = match object {
        CatalogObject::Table(_) => kind == ObjectKind::Table,
        CatalogObject::View(_) => matches!(kind, ObjectKind::View | ObjectKind::Table),
        CatalogObject::Dictionary(_) => matches!(kind, ObjectKind::Dictionary),
        CatalogObject::Broken(_) => true,
    };
    if fits {
        return Ok(());
    }
    let is_dictionary = matches!(object, CatalogObject::Dictionary(_)) && kind == ObjectKind::Table;
    Err(Error::new(
        if is_dictionary { ErrorCode::CannotDropDictionaryAsTable } else { ErrorCode::IncorrectQuery },
        format!(
            "`{}.{}` is a {}; use {verb} {}",
            key.database,
            key.name,
            object.kind(),
            object.kind().to_uppercase()
        ),
    ))
}

/// The definition of the column in a CREATE statement.
pub(super) fn column_def(column: &Column) -> Result<ast::ColumnDef> {
    let ty = basalt_sql::parse_type(column.ty.to_string().as_bytes())?;
    Ok(ast::ColumnDef::new(column.name.clone(), Some(ty)))
}
