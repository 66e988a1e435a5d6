//! Roles of roles: which are current, and which they enable.

use std::collections::{BTreeMap, BTreeSet};

use basalt_base::{Result, bail};
use basalt_sql::ast::RoleSet;

use crate::entities::{Entities, User};

impl Entities {
    /// The current roles of a user after SET ROLE, or its default roles. A role that was not granted is an error.
    pub(crate) fn current_roles(&self, user: &User, set: Option<&RoleSet>) -> Result<BTreeSet<String>> {
        let granted = &user.grants.roles;
        let chosen = match set {
            Some(set) if !set.default => set.clone(),
            _ => {
                let defaults = user.default_roles();
                return Ok(granted.keys().filter(|role| defaults.contains(role)).cloned().collect());
            }
        };
        if let Some(role) = chosen.names.iter().find(|role| !granted.contains_key(*role)) {
            bail!(SetNonGrantedRole, "role `{role}` should be granted to `{}` to set it", user.name());
        }
        Ok(granted.keys().filter(|role| chosen.contains(role)).cloned().collect())
    }

    /// The roles with all that were granted to them.
    pub(crate) fn enabled_roles(&self, current: &BTreeSet<String>) -> BTreeSet<String> {
        let mut enabled = BTreeSet::new();
        let mut waiting: Vec<&String> = current.iter().collect();
        while let Some(name) = waiting.pop() {
            if let Some(role) = self.roles.get(name)
                && enabled.insert(name.clone())
            {
                waiting.extend(role.grants.roles.keys());
            }
        }
        enabled
    }

    /// The roles that may be granted to others: those with the admin option, of the user and of its enabled roles.
    pub(crate) fn admin_roles(&self, user: &User, enabled: &BTreeSet<String>) -> BTreeSet<String> {
        let with_option = |roles: &BTreeMap<String, bool>| {
            let names: Vec<String> =
                roles.iter().filter(|(_, admin)| **admin).map(|(role, _)| role.clone()).collect();
            names
        };
        let of_roles = enabled.iter().filter_map(|role| self.roles.get(role));
        let of_roles = of_roles.flat_map(|role| with_option(&role.grants.roles));
        with_option(&user.grants.roles).into_iter().chain(of_roles).collect()
    }

    /// Whether `name`, or a role that it has, has the role `other`: granting `name` to `other` would be a circle.
    pub(crate) fn has_role(&self, name: &str, other: &str) -> bool {
        let start = BTreeSet::from([name.to_owned()]);
        self.enabled_roles(&start).contains(other)
    }
}
