//! DETACH DATABASE and ATTACH DATABASE: all that is in a database leaves the catalog and comes back.

use basalt_base::{Error, Result, bail};
use basalt_sql::ast::DetachObject;

use super::detach::{locked_as_used, still_used, until_free, wait_while};
use crate::execution::Execution;
use crate::names::{ObjectKey, is_built_in};

/// `DETACH DATABASE [IF EXISTS] name [SYNC]`.
pub(super) fn detach(query: &Execution, detach: &DetachObject) -> Result<()> {
    let database = &detach.name.name;
    if is_built_in(database) {
        bail!(ReadOnly, "database `{database}` cannot be detached");
    }
    let catalog = query.instance.catalog();
    {
        let _ddl = catalog.ddl();
        if detach.if_exists && !catalog.has_database(database) {
            return Ok(());
        }
        catalog.require_database(database)?;
        if detach.permanently {
            return Err(Error::not_implemented("DETACH DATABASE ... PERMANENTLY"));
        }
        for (name, _) in catalog.objects(database) {
            query.instance.background().cancel_table(&ObjectKey { database: database.clone(), name });
        }
        catalog.detach_database(database)?;
    }
    wait_while(query, || detach.sync && catalog.is_detached_database_used(database))
}

/// `ATTACH DATABASE [IF NOT EXISTS] name`. Queries that began before DETACH may take a while to end.
pub(super) fn attach(query: &Execution, database: &str, if_not_exists: bool) -> Result<()> {
    until_free(query, || attach_now(query, database, if_not_exists))
}

/// Attaches the database, or returns the error that a query still uses it, after which the caller may try again.
fn attach_now(query: &Execution, database: &str, if_not_exists: bool) -> Result<Option<Error>> {
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    if catalog.has_database(database) {
        if if_not_exists {
            return Ok(None);
        }
        bail!(DatabaseAlreadyExists, "database `{database}` already exists");
    }
    if !catalog.has_detached_database(database) {
        bail!(
            UnknownDatabaseEngine,
            "no database `{database}` was detached; CREATE DATABASE makes a new one"
        );
    }
    if catalog.is_detached_database_used(database) {
        return Ok(Some(still_used(database)));
    }
    locked_as_used(catalog.attach_database(database, query.instance.opener()))
}
