//! GRANT and REVOKE.

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_sql::ast::{Grant, GrantTarget, Granted, NamePattern, PrivilegesOn, Revoke, RoleSet};

use crate::change::Author;
use crate::effective::grant_text;
use crate::entities::{Entities, Grants};
use crate::privilege::{PrivilegeSet, privileges};
use crate::rights::Path;

/// Privileges on one path, as a statement means them.
struct Element {
    path: Path,
    set: PrivilegeSet,
}

impl Entities {
    pub(crate) fn grant(&mut self, grant: &Grant, author: Author<'_>) -> Result<()> {
        let receivers = self.receivers(&grant.to)?;
        if let Some(name) = receivers.iter().find(|name| !author.access.grantees.contains(name)) {
            bail!(AccessDenied, "{}: grants to `{name}` are not allowed: see GRANTEES", author.access.user);
        }
        match &grant.what {
            Granted::Roles(roles) => {
                let roles = self.named_roles(roles, author)?;
                for name in receivers {
                    if let Some(role) = roles.iter().find(|role| self.has_role(role, &name)) {
                        bail!(
                            BadArguments,
                            "role `{role}` has `{name}` already: they would contain each other"
                        );
                    }
                    let grants = self.grants_mut(&name)?;
                    if grant.replace {
                        grants.roles.clear();
                    }
                    for role in &roles {
                        let has_option = grants.roles.entry(role.clone()).or_default();
                        *has_option |= grant.with_option;
                    }
                }
            }
            Granted::Privileges(list) => {
                let elements = elements(list, author)?;
                check_option(&elements, author)?;
                for name in receivers {
                    let grants = self.grants_mut(&name)?;
                    if grant.replace {
                        (grants.rights, grants.grantable) = Default::default();
                    }
                    for element in &elements {
                        grants.rights.grant(&element.path, element.set);
                        if grant.with_option {
                            grants.grantable.grant(&element.path, element.set);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn revoke(&mut self, revoke: &Revoke, author: Author<'_>) -> Result<()> {
        let receivers = self.receivers(&revoke.from)?;
        match &revoke.what {
            Granted::Roles(roles) => {
                for name in receivers {
                    let chosen = RoleSet { names: self.named_roles(roles, author)?, ..RoleSet::default() };
                    let grants = self.grants_mut(&name)?;
                    for (_, has_option) in grants.roles.iter_mut().filter(|(role, _)| chosen.contains(role)) {
                        *has_option = false;
                    }
                    if !revoke.option_only {
                        grants.roles.retain(|role, _| !chosen.contains(role));
                    }
                }
            }
            Granted::Privileges(list) => {
                let elements = elements(list, author)?;
                check_option(&elements, author)?;
                for name in receivers {
                    let grants = self.grants_mut(&name)?;
                    for element in &elements {
                        grants.grantable.revoke(&element.path, element.set);
                        if !revoke.option_only {
                            grants.rights.revoke(&element.path, element.set);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The users and roles that a set names; `ALL` leaves out those of the configuration.
    fn receivers(&self, set: &RoleSet) -> Result<Vec<String>> {
        for name in set.names.iter().chain(&set.except) {
            self.check_grantee(name)?;
        }
        if !set.all {
            return Ok(set.names.clone());
        }
        let users = self.users.iter().filter(|(_, user)| !user.is_configured).map(|(name, _)| name);
        Ok(users.chain(self.roles.keys()).filter(|name| set.contains(name)).cloned().collect())
    }

    /// The roles of a set, each of which the author may give to others.
    fn named_roles(&self, set: &RoleSet, author: Author<'_>) -> Result<Vec<String>> {
        let access = author.access;
        let is_admin = access.has(PrivilegeSet::of("ROLE ADMIN"), &Path::default());
        for name in set.names.iter().chain(&set.except) {
            if !self.roles.contains_key(name) {
                let near = did_you_mean(name, self.roles.keys().map(String::as_str));
                bail!(UnknownRole, "there is no role `{name}`{near}");
            }
        }
        let roles: Vec<String> = self.roles.keys().filter(|role| set.contains(role)).cloned().collect();
        match roles.iter().find(|role| !is_admin && !access.admin_roles.contains(*role)) {
            Some(role) => bail!(
                AccessDenied,
                "{}: Not enough privileges. To execute this query, it's necessary to have the role {role} granted with ADMIN option",
                access.user
            ),
            None => Ok(roles),
        }
    }

    fn grants_mut(&mut self, name: &str) -> Result<&mut Grants> {
        if let Some(role) = self.roles.get_mut(name) {
            return Ok(&mut role.grants);
        }
        match self.users.get_mut(name) {
            Some(user) if user.is_configured => bail!(
                AccessStorageReadonly,
                "user `{name}` is defined by the server's configuration: change it there"
            ),
            Some(user) => Ok(&mut user.grants),
            None => bail!(UnknownRole, "there is no user or role `{name}`"),
        }
    }
}

fn check_option(elements: &[Element], author: Author<'_>) -> Result<()> {
    let access = author.access;
    match elements.iter().find(|element| !access.grantable.has(&element.path, element.set)) {
        None => Ok(()),
        Some(element) => Err(access.no_option(&grant_text(element.set, &[], &element.path))),
    }
}

fn elements(list: &[PrivilegesOn], author: Author<'_>) -> Result<Vec<Element>> {
    let mut all = Vec::new();
    for on in list {
        let table = path_of(&on.target, author.database)?;
        for (name, columns) in &on.privileges {
            let Some(named) = PrivilegeSet::named(name) else {
                let known = privileges().iter().map(|privilege| privilege.name);
                bail!(SyntaxError, "there is no privilege `{name}`{}", did_you_mean(name, known));
            };
            if columns.is_empty() {
                all.push(Element { set: restricted(name, named, table.0.len())?, path: table.clone() });
            }
            for column in columns {
                if table.0.len() != 2 {
                    bail!(InvalidGrant, "columns of `{name}` need a table");
                }
                all.push(Element { set: restricted(name, named, 3)?, path: table.clone().with(column) });
            }
        }
    }
    Ok(all)
}

/// The part of a privilege that can be granted on a path of `names` names.
fn restricted(name: &str, set: PrivilegeSet, names: usize) -> Result<PrivilegeSet> {
    let part = set & PrivilegeSet::grantable_on(names);
    if part.is_empty() && !set.is_empty() {
        let level = ["everything", "databases", "tables", "columns"][names.min(3)];
        bail!(InvalidGrant, "{name} cannot be granted on {level}: write ON *.*");
    }
    Ok(part)
}

fn path_of(target: &GrantTarget, current_database: &str) -> Result<Path> {
    let mut names: Vec<NamePattern> = target.database.iter().cloned().collect();
    if target.in_current_database {
        names.push(NamePattern { name: current_database.to_owned(), is_prefix: false });
    }
    match (&target.table, names.is_empty()) {
        (Some(_), true) => bail!(InvalidGrant, "a table needs the name of its database"),
        (table, _) => names.extend(table.iter().cloned()),
    }
    Ok(Path(names))
}
