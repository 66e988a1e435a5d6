//! What a user may do with the roles that are enabled.

use std::collections::BTreeSet;
use std::sync::Arc;

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast::{Expr, Literal, ProfileElement, RoleSet, SettingConstraint};

use crate::constraints::Constraints;
use crate::entities::{DEFAULT_PROFILE, Entities, Grants};
use crate::privilege::PrivilegeSet;
use crate::rights::{Path, Rights};
use crate::rights_text::target_of;

/// How deep profiles may inherit from profiles.
const PROFILE_DEPTH_MAX: usize = 32;

/// A user with its enabled roles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    pub user: String,
    pub current_roles: BTreeSet<String>,
    pub enabled_roles: BTreeSet<String>,
    pub(crate) admin_roles: BTreeSet<String>,
    pub rights: Rights,
    pub(crate) grantable: Rights,
    pub(crate) grantees: RoleSet,
    /// The settings of its profiles, its roles and itself: later ones win.
    pub settings: Vec<SettingConstraint>,
    pub default_database: Option<String>,
    /// Which values these settings may get later.
    pub constraints: Arc<Constraints>,
    may_do_all: bool,
    /// Whether it is the engine itself, whom no row policy concerns.
    is_engine: bool,
}

impl Access {
    /// The access of the engine itself.
    pub fn unlimited(user: &str) -> Access {
        Access {
            user: user.to_owned(),
            rights: Rights::all(),
            grantable: Rights::all(),
            grantees: RoleSet::everyone(),
            may_do_all: true,
            is_engine: true,
            ..Access::default()
        }
    }

    /// ACCESS_DENIED unless all of `set` is granted on the path.
    pub fn check(&self, set: PrivilegeSet, path: &Path) -> Result<()> {
        if self.has(set, path) { Ok(()) } else { Err(self.denied(&grant_text(set, &[], path))) }
    }

    /// As [`Access::check`] for columns of a table; without columns, any column is enough.
    pub fn check_columns(&self, set: PrivilegeSet, table: &Path, columns: &[&str]) -> Result<()> {
        if self.may_do_all || self.rights.has(table, set) {
            return Ok(());
        }
        let is_granted = match columns {
            [] => self.rights.has_any(table, set),
            columns => columns.iter().all(|column| self.rights.has(&table.clone().with(column), set)),
        };
        if is_granted { Ok(()) } else { Err(self.denied(&grant_text(set, columns, table))) }
    }

    pub fn has(&self, set: PrivilegeSet, path: &Path) -> bool {
        self.may_do_all || self.rights.has(path, set)
    }

    /// Whether the user may give all of `set` on the path to others.
    pub fn may_give(&self, set: PrivilegeSet, path: &Path) -> bool {
        self.grantable.has(path, set)
    }

    /// Whether the user knows of a database, table or column: it has some privilege on it, or on part of it.
    pub fn sees(&self, path: &Path) -> bool {
        self.may_do_all || self.rights.has_any(path, visible(path.0.len()))
    }

    /// Whether the user knows all columns of a table: it has some privilege on the whole of it.
    pub fn sees_whole(&self, table: &Path) -> bool {
        let any = || PrivilegeSet::grantable_on(2).each().any(|one| self.rights.has(table, one));
        self.may_do_all || any()
    }

    /// Whether the user may give the role to others.
    pub fn is_admin_of(&self, role: &str) -> bool {
        self.admin_roles.contains(role)
    }

    /// Whether nothing is denied.
    pub fn is_unlimited(&self) -> bool {
        self.may_do_all
    }

    /// Whether the set of users and roles has this user.
    pub fn is_in(&self, set: &RoleSet) -> bool {
        let names = || self.enabled_roles.iter().chain([&self.user]);
        match set.all {
            true => !names().any(|name| set.except.contains(name)),
            false => names().any(|name| set.names.contains(name)),
        }
    }

    fn denied(&self, grant: &str) -> Error {
        let what = format!(
            "{}: Not enough privileges. To execute this query, it's necessary to have the grant {grant}",
            self.user
        );
        Error::new(ErrorCode::AccessDenied, what)
    }

    /// ACCESS_DENIED for what the user has but must not give to others.
    pub(crate) fn no_option(&self, grant: &str) -> Error {
        self.denied(&format!("{grant} WITH GRANT OPTION"))
    }
}

/// The privileges on part of a database or table that make it visible.
fn visible(names: usize) -> PrivilegeSet {
    PrivilegeSet::grantable_on(names.max(1))
}

/// `SELECT(a, b) ON d.t`.
pub(crate) fn grant_text(set: PrivilegeSet, columns: &[&str], path: &Path) -> String {
    let columns = match columns {
        [] => String::new(),
        columns => format!("({})", columns.join(", ")),
    };
    let names: Vec<String> = set.names().iter().map(|name| format!("{name}{columns}")).collect();
    format!("{} ON {}", names.join(", "), target_of(path))
}

impl Entities {
    /// The access of a user. `roles` are those of SET ROLE, or `None` for its default roles. `text` is how a literal is
    /// written as the value of a setting.
    pub fn access(
        &self,
        name: &str,
        roles: Option<&RoleSet>,
        text: &dyn Fn(&Literal) -> String,
    ) -> Result<Access> {
        let Some(user) = self.users.get(name) else {
            bail!(UnknownUser, "there is no user `{name}`");
        };
        let current_roles = self.current_roles(user, roles)?;
        let enabled_roles = self.enabled_roles(&current_roles);
        let admin_roles = self.admin_roles(user, &enabled_roles);
        let mut access = Access {
            user: name.to_owned(),
            current_roles,
            admin_roles,
            grantees: user.grantees(),
            default_database: user.definition.default_database.clone().filter(|name| !name.is_empty()),
            ..Access::default()
        };
        let of_roles = enabled_roles.iter().filter_map(|role| self.roles.get(role)).map(|role| &role.grants);
        for Grants { rights, grantable, .. } in of_roles.chain([&user.grants]) {
            access.rights.add(rights);
            access.grantable.add(grantable);
        }
        access.enabled_roles = enabled_roles;
        access.settings = self.settings_of(&access, user.settings());
        access.constraints = Arc::new(Constraints::new(&access.settings, text));
        access.may_do_all = access.rights.is_all();
        Ok(access)
    }

    /// The settings of profiles, roles and the user, in the order in which they apply.
    fn settings_of(&self, access: &Access, own: &[ProfileElement]) -> Vec<SettingConstraint> {
        let mut settings = Vec::new();
        self.expand_profile(DEFAULT_PROFILE, 0, &mut settings);
        for (name, profile) in &self.profiles {
            if profile.to.as_ref().is_some_and(|to| access.is_in(to)) {
                self.expand_profile(name, 0, &mut settings);
            }
        }
        for role in access.enabled_roles.iter().filter_map(|role| self.roles.get(role)) {
            self.expand(role.definition.settings.as_deref().unwrap_or_default(), 0, &mut settings);
        }
        self.expand(own, 0, &mut settings);
        settings
    }

    fn expand_profile(&self, name: &str, depth: usize, settings: &mut Vec<SettingConstraint>) {
        if let Some(profile) = self.profiles.get(name) {
            self.expand(profile.settings.as_deref().unwrap_or_default(), depth, settings);
        }
    }

    fn expand(&self, elements: &[ProfileElement], depth: usize, settings: &mut Vec<SettingConstraint>) {
        for element in elements {
            match element {
                ProfileElement::Setting(setting) => settings.push(setting.clone()),
                ProfileElement::Profile(name) if depth < PROFILE_DEPTH_MAX => {
                    self.expand_profile(name, depth + 1, settings);
                }
                ProfileElement::Profile(_) => {}
            }
        }
    }

    /// The condition of row policies that the rows of a table must satisfy for this user.
    pub fn row_filter_for(&self, access: &Access, database: &str, table: &str) -> Option<Expr> {
        if self.policies.is_empty() || access.is_engine {
            return None;
        }
        self.row_filter(database, table, &|set| access.is_in(set))
    }
}
