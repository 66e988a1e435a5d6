//! CREATE, ALTER and DROP of entities.

use std::collections::BTreeMap;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast::{
    AccessKind, AccessStatement, DefinitionMode, DropAccessEntity, Ident, ObjectName, ProfileDefinition,
    QuotaDefinition, QuotaInterval, RoleDefinition, RoleSet, RowPolicyDefinition, UserDefinition, UserHost,
};

use crate::authentication::{Network, is_time, stored};
use crate::effective::Access;
use crate::entities::{CREATE, Entities, Grants, PolicyKey, Role, User};
use crate::usage::RESOURCES;

/// What a change needs besides the entities.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    pub access: &'a Access,
    pub database: &'a str,
}

impl Entities {
    /// The entities after a statement. The privileges on definitions have been checked; those on grants are checked
    /// here. SET ROLE changes a session, not entities.
    pub fn apply(&self, statement: &AccessStatement, author: Author<'_>) -> Result<Entities> {
        let mut changed = self.clone();
        match statement {
            AccessStatement::User(definition) => changed.define_users(definition)?,
            AccessStatement::Role(definition) => changed.define_roles(definition)?,
            AccessStatement::SettingsProfile(definition) => changed.define_profiles(definition)?,
            AccessStatement::RowPolicy(definition) => changed.define_policies(definition, author.database)?,
            AccessStatement::Quota(definition) => changed.define_quotas(definition)?,
            AccessStatement::Drop(drop) => changed.drop_entities(drop, author.database)?,
            AccessStatement::Grant(grant) => changed.grant(grant, author)?,
            AccessStatement::Revoke(revoke) => changed.revoke(revoke, author)?,
            AccessStatement::SetDefaultRole { roles, users } => changed.set_default_roles(roles, users)?,
            AccessStatement::SetRole(_) => {}
        }
        Ok(changed)
    }

    fn define_users(&mut self, definition: &UserDefinition) -> Result<()> {
        self.check_references(definition.default_roles.as_ref(), definition.grantees.as_ref())?;
        if let Some(until) = definition.valid_until.as_ref().filter(|until| !is_time(until)) {
            bail!(BadArguments, "VALID UNTIL '{until}': write a time as 2030-12-31 23:59:59, or infinity");
        }
        for host in definition.hosts.iter().flatten() {
            if let UserHost::Ip(text) = host
                && Network::parse(text).is_none()
            {
                bail!(
                    BadArguments,
                    "HOST IP '{text}' is neither an address nor a network such as 10.0.0.0/8"
                );
            }
        }
        let authentication = definition.authentication.as_deref().map(stored).transpose()?;
        for name in &definition.names {
            if self.roles.contains_key(name) {
                return Err(already_exists(AccessKind::Role, name));
            }
            let Some(mut user) =
                entity(&self.users, AccessKind::User, definition.mode, name, || User::new(name))?
            else {
                continue;
            };
            if user.is_configured {
                return Err(configured(name));
            }
            let own = &mut user.definition;
            overlay(&mut own.authentication, authentication.as_ref());
            overlay(&mut own.hosts, definition.hosts.as_ref());
            overlay(&mut own.valid_until, definition.valid_until.as_ref());
            overlay(&mut own.default_roles, definition.default_roles.as_ref());
            overlay(&mut own.default_database, definition.default_database.as_ref());
            overlay(&mut own.grantees, definition.grantees.as_ref());
            overlay(&mut own.settings, definition.settings.as_ref());
            if own.valid_until.as_deref().is_some_and(|until| until.eq_ignore_ascii_case("infinity")) {
                own.valid_until = None;
            }
            let name = renamed(&mut self.users, AccessKind::User, name, definition.new_name.as_ref())?;
            user.definition.names = vec![name.clone()];
            self.users.insert(name, user);
        }
        self.rename_references(&definition.names, definition.new_name.as_ref());
        Ok(())
    }

    fn define_roles(&mut self, definition: &RoleDefinition) -> Result<()> {
        for name in &definition.names {
            if self.users.contains_key(name) {
                return Err(already_exists(AccessKind::User, name));
            }
            let make = || {
                let definition = RoleDefinition {
                    mode: CREATE,
                    names: vec![name.to_owned()],
                    new_name: None,
                    settings: None,
                };
                Role { definition, grants: Grants::default() }
            };
            let Some(mut role) = entity(&self.roles, AccessKind::Role, definition.mode, name, make)? else {
                continue;
            };
            overlay(&mut role.definition.settings, definition.settings.as_ref());
            let name = renamed(&mut self.roles, AccessKind::Role, name, definition.new_name.as_ref())?;
            role.definition.names = vec![name.clone()];
            self.roles.insert(name, role);
        }
        self.rename_references(&definition.names, definition.new_name.as_ref());
        Ok(())
    }

    fn define_profiles(&mut self, definition: &ProfileDefinition) -> Result<()> {
        self.check_references(definition.to.as_ref(), None)?;
        for name in &definition.names {
            let make = || ProfileDefinition {
                mode: CREATE,
                names: vec![name.to_owned()],
                new_name: None,
                settings: None,
                to: None,
            };
            let found = entity(&self.profiles, AccessKind::SettingsProfile, definition.mode, name, make)?;
            let Some(mut profile) = found else { continue };
            overlay(&mut profile.settings, definition.settings.as_ref());
            overlay(&mut profile.to, definition.to.as_ref());
            let kind = AccessKind::SettingsProfile;
            let name = renamed(&mut self.profiles, kind, name, definition.new_name.as_ref())?;
            profile.names = vec![name.clone()];
            self.profiles.insert(name, profile);
        }
        Ok(())
    }

    fn define_quotas(&mut self, definition: &QuotaDefinition) -> Result<()> {
        self.check_references(definition.to.as_ref(), None)?;
        let limits = definition.intervals.iter().flatten().filter_map(|interval| interval.limits.as_ref());
        for (resource, _) in limits.flatten() {
            if !RESOURCES.contains(&resource.as_str()) {
                let near = did_you_mean(resource, RESOURCES.iter().copied());
                bail!(BadArguments, "a quota cannot limit `{resource}`{near}");
            }
        }
        for name in &definition.names {
            let make = || QuotaDefinition {
                mode: CREATE,
                names: vec![name.to_owned()],
                new_name: None,
                keyed_by: None,
                intervals: None,
                to: None,
            };
            let Some(mut quota) = entity(&self.quotas, AccessKind::Quota, definition.mode, name, make)?
            else {
                continue;
            };
            overlay(&mut quota.keyed_by, definition.keyed_by.as_ref());
            for interval in definition.intervals.iter().flatten() {
                change_interval(quota.intervals.get_or_insert_default(), interval);
            }
            overlay(&mut quota.to, definition.to.as_ref());
            let name = renamed(&mut self.quotas, AccessKind::Quota, name, definition.new_name.as_ref())?;
            quota.names = vec![name.clone()];
            self.quotas.insert(name, quota);
        }
        Ok(())
    }

    fn define_policies(&mut self, definition: &RowPolicyDefinition, current_database: &str) -> Result<()> {
        self.check_references(definition.to.as_ref(), None)?;
        for (name, table) in pairs(&definition.names, &definition.tables) {
            let database = table.database.clone().unwrap_or_else(|| current_database.to_owned());
            let key = PolicyKey { database: database.clone(), table: table.name.clone(), name: name.clone() };
            let make = || RowPolicyDefinition {
                mode: CREATE,
                names: vec![name.clone()],
                tables: vec![ObjectName { database: Some(database.clone()), name: table.name.clone() }],
                new_name: None,
                filter: None,
                restrictive: None,
                to: None,
            };
            let found = entity(&self.policies, AccessKind::RowPolicy, definition.mode, &key, make)?;
            let Some(mut policy) = found else { continue };
            overlay(&mut policy.filter, definition.filter.as_ref());
            overlay(&mut policy.restrictive, definition.restrictive.as_ref());
            overlay(&mut policy.to, definition.to.as_ref());
            let new_key = definition.new_name.clone().map(|name| PolicyKey { name, ..key.clone() });
            let key = renamed(&mut self.policies, AccessKind::RowPolicy, &key, new_key.as_ref())?;
            policy.names = vec![key.name.clone()];
            self.policies.insert(key, policy);
        }
        Ok(())
    }

    fn drop_entities(&mut self, drop: &DropAccessEntity, current_database: &str) -> Result<()> {
        if drop.kind == AccessKind::RowPolicy {
            for (name, table) in pairs(&drop.names, &drop.tables) {
                let database = table.database.clone().unwrap_or_else(|| current_database.to_owned());
                let key = PolicyKey { database, table: table.name.clone(), name: name.clone() };
                if self.policies.remove(&key).is_none() && !drop.if_exists {
                    return Err(not_found(drop.kind, &key.to_string()));
                }
            }
            return Ok(());
        }
        for name in &drop.names {
            if self.users.get(name).is_some_and(|user| user.is_configured) && drop.kind == AccessKind::User {
                return Err(configured(name));
            }
            let is_removed = match drop.kind {
                AccessKind::User => self.users.remove(name).is_some(),
                AccessKind::Role => self.roles.remove(name).is_some(),
                AccessKind::SettingsProfile => self.profiles.remove(name).is_some(),
                _ => self.quotas.remove(name).is_some(),
            };
            if is_removed && matches!(drop.kind, AccessKind::User | AccessKind::Role) {
                self.forget(name);
            } else if !is_removed && !drop.if_exists {
                return Err(not_found_among(drop.kind, name, self.names(drop.kind)));
            }
        }
        Ok(())
    }

    fn names(&self, kind: AccessKind) -> impl Iterator<Item = &str> {
        let names: Vec<&String> = match kind {
            AccessKind::User => self.users.keys().collect(),
            AccessKind::Role => self.roles.keys().collect(),
            AccessKind::SettingsProfile => self.profiles.keys().collect(),
            AccessKind::RowPolicy => self.policies.keys().map(|key| &key.name).collect(),
            AccessKind::Quota => self.quotas.keys().collect(),
        };
        names.into_iter().map(String::as_str)
    }

    fn set_default_roles(&mut self, roles: &RoleSet, users: &[Ident]) -> Result<()> {
        self.check_references(Some(roles), None)?;
        for name in users {
            let user = self.user_mut(name)?;
            if let Some(role) = roles.names.iter().find(|role| !user.grants.roles.contains_key(*role)) {
                bail!(
                    SetNonGrantedRole,
                    "role `{role}` should be granted to `{name}` to become a default role"
                );
            }
            user.definition.default_roles = Some(roles.clone());
        }
        Ok(())
    }

    fn user_mut(&mut self, name: &str) -> Result<&mut User> {
        let near = did_you_mean(name, self.users.keys().map(String::as_str));
        match self.users.get_mut(name) {
            Some(user) if user.is_configured => Err(configured(name)),
            Some(user) => Ok(user),
            None => bail!(UnknownUser, "there is no user `{name}`{near}"),
        }
    }

    /// Users and roles that a definition names must exist.
    fn check_references(&self, first: Option<&RoleSet>, second: Option<&RoleSet>) -> Result<()> {
        for set in first.into_iter().chain(second) {
            for name in set.names.iter().chain(&set.except) {
                self.check_grantee(name)?;
            }
        }
        Ok(())
    }

    /// UNKNOWN_ROLE unless there is a user or a role of this name.
    pub(crate) fn check_grantee(&self, name: &str) -> Result<()> {
        if self.users.contains_key(name) || self.roles.contains_key(name) {
            return Ok(());
        }
        let known = self.users.keys().chain(self.roles.keys()).map(String::as_str);
        bail!(UnknownRole, "there is no user or role `{name}`{}", did_you_mean(name, known))
    }

    /// Removes a user or a role from all that names it.
    fn forget(&mut self, name: &str) {
        self.each_grants(|grants| {
            grants.roles.remove(name);
        });
        self.each_set(|set| {
            set.names.retain(|one| one != name);
            set.except.retain(|one| one != name);
        });
    }

    fn rename_references(&mut self, names: &[Ident], new_name: Option<&Ident>) {
        let ([name], Some(new_name)) = (names, new_name) else { return };
        self.each_grants(|grants| {
            if let Some(admin) = grants.roles.remove(name) {
                grants.roles.insert(new_name.clone(), admin);
            }
        });
        self.each_set(|set| {
            for one in set.names.iter_mut().chain(&mut set.except).filter(|one| *one == name) {
                new_name.clone_into(one);
            }
        });
    }

    fn each_grants(&mut self, change: impl Fn(&mut Grants)) {
        self.users.values_mut().for_each(|user| change(&mut user.grants));
        self.roles.values_mut().for_each(|role| change(&mut role.grants));
    }

    fn each_set(&mut self, change: impl Fn(&mut RoleSet)) {
        let users = self.users.values_mut().flat_map(|user| {
            let definition = &mut user.definition;
            definition.default_roles.iter_mut().chain(definition.grantees.iter_mut())
        });
        let profiles = self.profiles.values_mut().flat_map(|profile| profile.to.iter_mut());
        let policies = self.policies.values_mut().flat_map(|policy| policy.to.iter_mut());
        let quotas = self.quotas.values_mut().flat_map(|quota| quota.to.iter_mut());
        users.chain(profiles).chain(policies).chain(quotas).for_each(change);
    }
}

/// Each name with each table.
fn pairs<'a>(
    names: &'a [Ident],
    tables: &'a [ObjectName],
) -> impl Iterator<Item = (&'a Ident, &'a ObjectName)> {
    names.iter().flat_map(move |name| tables.iter().map(move |table| (name, table)))
}

/// An interval replaces the one of its length, or ends it.
fn change_interval(intervals: &mut Vec<QuotaInterval>, new: &QuotaInterval) {
    intervals.retain(|interval| interval.seconds != new.seconds);
    if new.limits.is_some() {
        intervals.push(new.clone());
    }
}

fn overlay<T: Clone>(own: &mut Option<T>, new: Option<&T>) {
    if let Some(new) = new {
        *own = Some(new.clone());
    }
}

/// The entity that a definition makes or changes; `None` where IF [NOT] EXISTS leaves it as it is.
fn entity<K: Ord + std::fmt::Display, T: Clone>(
    all: &BTreeMap<K, T>,
    kind: AccessKind,
    mode: DefinitionMode,
    name: &K,
    make: impl FnOnce() -> T,
) -> Result<Option<T>> {
    let found = all.get(name);
    match mode {
        DefinitionMode::Create { or_replace: true, .. } => Ok(Some(make())),
        DefinitionMode::Create { if_not_exists: true, .. } if found.is_some() => Ok(None),
        DefinitionMode::Create { .. } if found.is_some() => Err(already_exists(kind, &name.to_string())),
        DefinitionMode::Create { .. } => Ok(Some(make())),
        DefinitionMode::Alter { if_exists } => match found {
            Some(found) => Ok(Some(found.clone())),
            None if if_exists => Ok(None),
            None => {
                let names: Vec<String> = all.keys().map(ToString::to_string).collect();
                Err(not_found_among(kind, &name.to_string(), names.iter().map(String::as_str)))
            }
        },
    }
}

/// The name after RENAME TO; what has the old one is removed, so that the caller inserts it under the new one.
fn renamed<K: Ord + Clone + std::fmt::Display, T>(
    all: &mut BTreeMap<K, T>,
    kind: AccessKind,
    name: &K,
    new_name: Option<&K>,
) -> Result<K> {
    match new_name {
        None => Ok(name.clone()),
        Some(new_name) if new_name != name && all.contains_key(new_name) => {
            Err(already_exists(kind, &new_name.to_string()))
        }
        Some(new_name) => {
            all.remove(name);
            Ok(new_name.clone())
        }
    }
}

fn kind_text(kind: AccessKind) -> String {
    kind.words().to_ascii_lowercase()
}

fn already_exists(kind: AccessKind, name: &str) -> Error {
    let what = format!("{} `{name}` already exists", kind_text(kind));
    Error::new(ErrorCode::AccessEntityAlreadyExists, what)
}

/// The error for an entity that does not exist.
pub fn not_found(kind: AccessKind, name: &str) -> Error {
    not_found_among(kind, name, std::iter::empty())
}

fn not_found_among<'a>(kind: AccessKind, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let near = did_you_mean(name, known);
    let code = match kind {
        AccessKind::User => ErrorCode::UnknownUser,
        AccessKind::Role => ErrorCode::UnknownRole,
        AccessKind::SettingsProfile => ErrorCode::ThereIsNoProfile,
        AccessKind::RowPolicy => ErrorCode::UnknownRowPolicy,
        AccessKind::Quota => ErrorCode::UnknownQuota,
    };
    Error::new(code, format!("there is no {} `{name}`{near}", kind_text(kind)))
}

fn configured(name: &str) -> Error {
    let what = format!("user `{name}` is defined by the server's configuration: change it there");
    Error::new(ErrorCode::AccessStorageReadonly, what)
}

impl std::fmt::Display for PolicyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ON {}.{}", self.name, self.database, self.table)
    }
}
