//! The skip indexes in a CREATE statement.

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_sql::ast::{CreateTable, IndexDef, TableElement};

/// The names of indexes that are in `old` and not in `new`.
pub(crate) fn gone<'a>(old: &'a CreateTable, new: &'a CreateTable) -> impl Iterator<Item = &'a str> {
    let is_kept = |name: &str| new.elements.iter().filter_map(index_in).any(|index| index.name == name);
    let names = old.elements.iter().filter_map(index_in).map(|index| index.name.as_str());
    names.filter(move |name| !is_kept(name))
}

/// Whether the table has the index; a missing one is an error unless `if_exists`.
pub(crate) fn has_index(create: &CreateTable, name: &str, if_exists: bool, verb: &str) -> Result<bool> {
    let names = || create.elements.iter().filter_map(index_in).map(|index| index.name.as_str());
    if names().any(|other| other == name) {
        return Ok(true);
    }
    if if_exists {
        return Ok(false);
    }
    let near = did_you_mean(name, names());
    bail!(BadArguments, "wrong index name: cannot find index `{name}` to {verb}{near}")
}

/// The index, if the element is one.
pub(crate) fn index_in(element: &TableElement) -> Option<&IndexDef> {
    match element {
        TableElement::Index(index) => Some(index),
        _ => None,
    }
}
