//! RENAME and EXCHANGE: the pairs of a statement as one move of each object.

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast::{ObjectKind, ObjectName, RenamePair};

use crate::catalog::{CatalogObject, CatalogStore};
use crate::execution::Execution;
use crate::names::{ObjectKey, check_name, is_built_in};

/// `RENAME a TO b, ...`: one pair after the other, so that `a TO c, b TO a, c TO b` exchanges two; all of
/// them or none.
pub(super) fn rename(query: &Execution, kind: ObjectKind, pairs: &[RenamePair]) -> Result<()> {
    if kind == ObjectKind::Database {
        bail!(NotImplemented, "RENAME DATABASE is not implemented");
    }
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    let mut moves = Moves { catalog, moves: Vec::new() };
    for pair in pairs {
        check_dictionary(catalog, kind, &query.key_of(&pair.from))?;
        moves.push(query.key_of(&pair.from), query.key_of(&pair.to))?;
    }
    let mut moves = moves.moves;
    moves.retain(|(from, to)| from != to);
    if query.settings.check_table_dependencies {
        catalog.check_no_dependents(|key| moves.iter().any(|(from, _)| from == key))?;
    }
    catalog.rename(&moves)
}

/// `EXCHANGE TABLES a AND b`.
pub(super) fn exchange(
    query: &Execution,
    kind: ObjectKind,
    left: &ObjectName,
    right: &ObjectName,
) -> Result<()> {
    if !matches!(kind, ObjectKind::Table | ObjectKind::Dictionary) {
        return Err(Error::not_implemented(format!("EXCHANGE of a {kind:?}")));
    }
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    let (left, right) = (query.key_of(left), query.key_of(right));
    check_dictionary(catalog, kind, &left)?;
    check_dictionary(catalog, kind, &right)?;
    catalog.get(&left.database, &left.name)?;
    catalog.get(&right.database, &right.name)?;
    catalog.rename(&[(left.clone(), right.clone()), (right, left)])
}

/// RENAME TABLE and EXCHANGE TABLES move dictionaries too. With the keyword DICTIONARY, the object must be a
/// dictionary.
fn check_dictionary(catalog: &CatalogStore, kind: ObjectKind, key: &ObjectKey) -> Result<()> {
    match catalog.find(&key.database, &key.name) {
        Some(object) if kind == ObjectKind::Dictionary && !matches!(object, CatalogObject::Dictionary(_)) => {
            bail!(IncorrectQuery, "`{}.{}` is a {}, not a dictionary", key.database, key.name, object.kind())
        }
        _ => Ok(()),
    }
}

/// Where each object of the statement was before it, and where the pairs so far have moved it.
struct Moves<'a> {
    catalog: &'a CatalogStore,
    moves: Vec<(ObjectKey, ObjectKey)>,
}

impl Moves<'_> {
    fn push(&mut self, from: ObjectKey, to: ObjectKey) -> Result<()> {
        self.check_free(&to)?;
        if let Some((_, place)) = self.moves.iter_mut().find(|(_, place)| *place == from) {
            *place = to;
            return Ok(());
        }
        if self.has_left(&from) {
            return Err(Error::new(
                ErrorCode::UnknownTable,
                format!("`{}.{}` was moved by an earlier pair of the statement", from.database, from.name),
            ));
        }
        self.catalog.get(&from.database, &from.name)?;
        self.moves.push((from, to));
        Ok(())
    }

    fn check_free(&self, key: &ObjectKey) -> Result<()> {
        if is_built_in(&key.database) {
            bail!(ReadOnly, "nothing can be created in the database `{}`", key.database);
        }
        check_name("table", &key.name)?;
        self.catalog.require_database(&key.database)?;
        self.catalog.check_not_detached(key)?;
        let is_target = self.moves.iter().any(|(_, place)| place == key);
        let stays = self.catalog.find(&key.database, &key.name).is_some() && !self.has_left(key);
        if is_target || stays {
            bail!(TableAlreadyExists, "`{}.{}` already exists", key.database, key.name);
        }
        Ok(())
    }

    fn has_left(&self, key: &ObjectKey) -> bool {
        self.moves.iter().any(|(origin, _)| origin == key)
    }
}
