//! Names that complete what a user types.

use std::collections::BTreeSet;

use crate::catalog::CatalogObject;
use crate::keywords::KEYWORDS;
use crate::session_state::SessionState;
use crate::system;

/// All names, sorted, each once.
pub(crate) fn names(session: &SessionState) -> Vec<String> {
    let mut names: BTreeSet<String> = KEYWORDS.iter().map(|&word| word.to_owned()).collect();
    names.extend(basalt_functions::registry::list().iter().map(|function| function.name.to_owned()));
    names.extend(session.settings.lines().iter().map(|line| line.name.to_owned()));
    names.extend(system::table_names().iter().map(|&name| name.to_owned()));
    for (database, name, object) in session.instance.catalog().all_objects() {
        if let CatalogObject::Table(table) = object {
            names.extend(table.definition().columns.iter().map(|column| column.name.clone()));
        }
        names.insert(name);
        names.insert(database);
    }
    names.into_iter().collect()
}
