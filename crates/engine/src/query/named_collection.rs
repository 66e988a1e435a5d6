//! CREATE, ALTER and DROP NAMED COLLECTION.

use basalt_base::{Result, bail};
use basalt_sql::ast::{AlterNamedCollection, CreateNamedCollection};

use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::named_collections::entry_of;

pub(super) fn create(query: &Execution, create: CreateNamedCollection) -> Result<()> {
    let _ddl = query.instance.catalog().ddl();
    let collections = query.instance.named_collections();
    match collections.contains(&create.name) {
        true if create.if_not_exists => Ok(()),
        true => bail!(NamedCollectionAlreadyExists, "named collection `{}` already exists", create.name),
        false => collections.put(create),
    }
}

/// Dictionaries that use it see the change at their next load.
pub(super) fn alter(query: &Execution, alter: AlterNamedCollection) -> Result<()> {
    let _ddl = query.instance.catalog().ddl();
    let collections = query.instance.named_collections();
    if alter.if_exists && !collections.contains(&alter.name) {
        return Ok(());
    }
    let mut changed = collections.get(&alter.name)?.as_ref().clone();
    for new in alter.set {
        match entry_of(&mut changed.entries, &new.key) {
            Some(entry) => {
                entry.value = new.value;
                entry.overridable = new.overridable.or(entry.overridable);
            }
            None => changed.entries.push(new),
        }
    }
    for key in &alter.delete {
        if entry_of(&mut changed.entries, key).is_none() {
            bail!(BadArguments, "named collection `{}` has no key `{key}` to delete", alter.name);
        }
        changed.entries.retain(|entry| entry.key != *key);
    }
    if changed.entries.is_empty() {
        bail!(BadArguments, "named collection `{}` would have no key; drop it instead", alter.name);
    }
    collections.put(changed)
}

pub(super) fn drop(query: &Execution, name: &str, if_exists: bool) -> Result<()> {
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    let collections = query.instance.named_collections();
    if !collections.contains(name) {
        return if if_exists { Ok(()) } else { collections.get(name).map(|_| ()) };
    }
    for (database, dictionary, object) in catalog.all_objects() {
        let CatalogObject::Dictionary(entry) = object else { continue };
        if query.settings.check_named_collection_dependencies && entry.collection().as_deref() == Some(name) {
            bail!(
                NamedCollectionIsUsed,
                "named collection `{name}` is used by dictionary `{database}.{dictionary}`; \
                 drop that first, or set check_named_collection_dependencies = 0"
            );
        }
    }
    collections.remove(name)
}
