//! Rights as the GRANT and REVOKE statements that make them.

use std::collections::BTreeMap;

use basalt_sql::ast::{
    AccessStatement, Grant, GrantTarget, Granted, NamePattern, PrivilegesOn, Revoke, RoleSet,
};

use crate::entities::Grants;
use crate::privilege::PrivilegeSet;
use crate::rights::{Node, Path};

/// What one path adds to its parent and takes from it, with or without the grant option.
#[derive(Default)]
struct Difference {
    granted: PrivilegeSet,
    granted_with_option: PrivilegeSet,
    revoked: PrivilegeSet,
    revoked_option: PrivilegeSet,
}

/// The statements that give `name` these grants, when it has none.
pub(crate) fn statements(name: &str, grants: &Grants) -> Vec<AccessStatement> {
    let to = RoleSet::of_names(vec![name.to_owned()]);
    let mut differences = Vec::new();
    let empty = PrivilegeSet::NONE;
    collect(&grants.rights.root, &grants.grantable.root, (empty, empty), &mut Vec::new(), &mut differences);
    let mut statements = Vec::new();
    for (path, columns) in by_table(differences) {
        let grant = |pick: fn(&Difference) -> PrivilegeSet, with_option| {
            let what = privileges(&path, &columns, pick)?;
            Some(AccessStatement::Grant(Grant { what, to: to.clone(), with_option, replace: false }))
        };
        let revoke = |pick: fn(&Difference) -> PrivilegeSet, option_only| {
            let what = privileges(&path, &columns, pick)?;
            Some(AccessStatement::Revoke(Revoke { what, from: to.clone(), option_only }))
        };
        statements.extend(grant(|difference| difference.granted, false));
        statements.extend(grant(|difference| difference.granted_with_option, true));
        statements.extend(revoke(|difference| difference.revoked, false));
        statements.extend(revoke(|difference| difference.revoked_option, true));
    }
    for is_admin in [false, true] {
        let roles = grants.roles.iter().filter(|(_, admin)| **admin == is_admin);
        let names: Vec<String> = roles.map(|(role, _)| role.clone()).collect();
        if !names.is_empty() {
            let what = Granted::Roles(RoleSet::of_names(names));
            statements.push(AccessStatement::Grant(Grant {
                what,
                to: to.clone(),
                with_option: is_admin,
                replace: false,
            }));
        }
    }
    statements
}

/// Walks both trees at once: a path is in one of them, or in both.
fn collect(
    held: &Node,
    grantable: &Node,
    (above, above_grantable): (PrivilegeSet, PrivilegeSet),
    path: &mut Vec<NamePattern>,
    found: &mut Vec<(Vec<NamePattern>, Difference)>,
) {
    let gained = held.set.without(above);
    let gained_option = grantable.set.without(above_grantable);
    let lost = above.without(held.set);
    let difference = Difference {
        granted: gained.without(gained_option),
        granted_with_option: gained_option,
        revoked: lost,
        revoked_option: above_grantable.without(grantable.set).without(lost),
    };
    found.push((path.clone(), difference));
    let mut names: Vec<&NamePattern> = held.children.keys().chain(grantable.children.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (inherited, inherited_option) = (held.inherited_set(name), grantable.inherited_set(name));
        let child = held.children.get(name).cloned().unwrap_or_else(|| held.inherited(name));
        let option = grantable.children.get(name).cloned().unwrap_or_else(|| grantable.inherited(name));
        path.push(name.clone());
        collect(&child, &option, (inherited, inherited_option), path, found);
        path.pop();
    }
}

/// The differences of columns beside those of their table; the name of the table itself is empty.
type Columns = BTreeMap<String, Difference>;

fn by_table(differences: Vec<(Vec<NamePattern>, Difference)>) -> Vec<(Vec<NamePattern>, Columns)> {
    let mut tables: Vec<(Vec<NamePattern>, Columns)> = Vec::new();
    for (mut path, difference) in differences {
        let column = if path.len() > 2 { path.pop().map(|name| name.name) } else { None };
        match tables.last_mut() {
            Some((table, columns)) if column.is_some() && *table == path => {
                columns.insert(column.unwrap_or_default(), difference);
            }
            _ => tables.push((path, Columns::from([(column.unwrap_or_default(), difference)]))),
        }
    }
    tables
}

fn privileges(
    path: &[NamePattern],
    columns: &Columns,
    pick: fn(&Difference) -> PrivilegeSet,
) -> Option<Granted> {
    let mut by_name: Vec<(String, Vec<String>)> = Vec::new();
    for (column, difference) in columns {
        for name in pick(difference).names() {
            match by_name.iter_mut().find(|(known, columns)| known == name && !columns.is_empty()) {
                Some((_, columns)) if !column.is_empty() => columns.push(column.clone()),
                _ if column.is_empty() => by_name.push((name.to_owned(), Vec::new())),
                _ => by_name.push((name.to_owned(), vec![column.clone()])),
            }
        }
    }
    if by_name.is_empty() {
        return None;
    }
    let target = target_of(&Path(path.to_vec()));
    Some(Granted::Privileges(vec![PrivilegesOn { privileges: by_name, target }]))
}

/// The target that the first two names of a path say.
pub(crate) fn target_of(path: &Path) -> GrantTarget {
    let mut names = path.0.iter().cloned();
    GrantTarget { database: names.next(), table: names.next(), in_current_database: false }
}
