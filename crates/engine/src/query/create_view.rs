//! CREATE VIEW.

use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_sql::ast::{self, ObjectKind, ObjectName};
use uuid::Uuid;

use super::resolve::{column_def, is_free};
use super::select;
use crate::catalog::{CatalogObject, view_of};
use crate::execution::Execution;

/// Makes a view; its query is planned and not run.
pub(super) async fn create_view(query: &Arc<Execution>, mut create: ast::CreateView) -> Result<()> {
    if create.materialized {
        bail!(NotImplemented, "CREATE MATERIALIZED VIEW is not implemented");
    }
    // Planning checks the query and gives its columns.
    let planned = select::plan(query, create.query.as_ref().clone(), Default::default()).await?;
    if create.columns.is_empty() {
        create.columns = planned.columns.iter().map(column_def).collect::<Result<_>>()?;
    }
    let key = query.key_of_new(&create.name);
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    if !is_free(query, &key, ObjectKind::View, create.if_not_exists, create.or_replace)? {
        return Ok(());
    }
    create.name = ObjectName { database: Some(key.database.clone()), name: key.name.clone() };
    create.or_replace = false;
    create.if_not_exists = false;
    let view = view_of(Uuid::new_v4(), create)?;
    catalog.put(&key.database, &key.name, CatalogObject::View(Arc::new(view)))
}
