//! Users, roles, settings profiles, row policies and quotas by name.

use std::collections::BTreeMap;

use basalt_sql::ast::{
    ALL_TABLES, AccessKind, AccessStatement, Authentication, DefinitionMode, Expr, ProfileDefinition,
    ProfileElement, QuotaDefinition, RoleDefinition, RoleSet, RowPolicyDefinition, UserDefinition, UserHost,
};

use crate::rights::Rights;
use crate::rights_text;

/// The user of a connection that names none.
pub const DEFAULT_USER: &str = "default";
/// The settings profile that every user has first, if it exists.
pub(crate) const DEFAULT_PROFILE: &str = "default";

/// All entities of access control.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entities {
    pub users: BTreeMap<String, User>,
    pub roles: BTreeMap<String, Role>,
    pub profiles: BTreeMap<String, ProfileDefinition>,
    pub policies: BTreeMap<PolicyKey, RowPolicyDefinition>,
    pub quotas: BTreeMap<String, QuotaDefinition>,
}

/// A user. Its definition mentions everything: it is what CREATE USER without options gives, or more.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    pub definition: UserDefinition,
    pub grants: Grants,
    /// Whether the configuration made it: no statement changes it.
    pub is_configured: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    pub definition: RoleDefinition,
    pub grants: Grants,
}

/// What a user or a role was granted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    pub rights: Rights,
    /// The part that it may grant to others.
    pub grantable: Rights,
    /// Granted roles, and whether it may grant them to others.
    pub roles: BTreeMap<String, bool>,
}

/// Database, table (`*` for all) and name of a row policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyKey {
    pub database: String,
    pub table: String,
    pub name: String,
}

impl PolicyKey {
    fn covers(&self, database: &str, table: &str) -> bool {
        self.database == database && (self.table == ALL_TABLES || self.table == table)
    }
}

impl User {
    /// What CREATE USER alone gives.
    pub(crate) fn new(name: &str) -> User {
        let definition = UserDefinition {
            mode: CREATE,
            names: vec![name.to_owned()],
            new_name: None,
            authentication: Some(vec![Authentication::NoPassword]),
            hosts: None,
            valid_until: None,
            default_roles: None,
            default_database: None,
            grantees: None,
            settings: None,
        };
        User { definition, grants: Grants::default(), is_configured: false }
    }

    /// The user of the configuration that may do everything.
    pub fn unlimited(name: &str, authentication: Authentication) -> User {
        let mut user = User::new(name);
        user.definition.authentication = Some(vec![authentication]);
        user.grants.rights = Rights::all();
        user.grants.grantable = Rights::all();
        user.is_configured = true;
        user
    }

    pub fn name(&self) -> &str {
        self.definition.names.first().map_or("", String::as_str)
    }

    pub fn authentication(&self) -> &[Authentication] {
        self.definition.authentication.as_deref().unwrap_or_default()
    }

    pub fn hosts(&self) -> &[UserHost] {
        self.definition.hosts.as_deref().unwrap_or(&[UserHost::Any])
    }

    pub fn default_roles(&self) -> RoleSet {
        self.definition.default_roles.clone().unwrap_or_else(RoleSet::everyone)
    }

    /// The users and roles that it may grant to.
    pub fn grantees(&self) -> RoleSet {
        self.definition.grantees.clone().unwrap_or_else(RoleSet::everyone)
    }

    pub fn settings(&self) -> &[ProfileElement] {
        self.definition.settings.as_deref().unwrap_or_default()
    }
}

pub(crate) const CREATE: DefinitionMode = DefinitionMode::Create { or_replace: false, if_not_exists: false };

impl Entities {
    /// The definitions of all entities of a kind, in the order of their names.
    pub fn definitions(&self, kind: AccessKind) -> Vec<AccessStatement> {
        match kind {
            AccessKind::User => {
                self.users.values().map(|user| AccessStatement::User(user.definition.clone())).collect()
            }
            AccessKind::Role => {
                self.roles.values().map(|role| AccessStatement::Role(role.definition.clone())).collect()
            }
            AccessKind::SettingsProfile => {
                self.profiles.values().cloned().map(AccessStatement::SettingsProfile).collect()
            }
            AccessKind::RowPolicy => {
                self.policies.values().cloned().map(AccessStatement::RowPolicy).collect()
            }
            AccessKind::Quota => self.quotas.values().cloned().map(AccessStatement::Quota).collect(),
        }
    }

    /// The statements that make all entities that no configuration makes: what a statement names is made before it.
    pub fn statements(&self) -> Vec<AccessStatement> {
        let mut all = self.definitions(AccessKind::Role);
        let users = self.users.values().filter(|user| !user.is_configured);
        all.extend(
            users.clone().map(|user| {
                AccessStatement::User(UserDefinition { grantees: None, ..user.definition.clone() })
            }),
        );
        // These may name any user.
        all.extend(users.clone().filter_map(grantees_statement));
        all.extend(self.definitions(AccessKind::SettingsProfile));
        all.extend(self.definitions(AccessKind::RowPolicy));
        all.extend(self.definitions(AccessKind::Quota));
        all.extend(self.roles.iter().flat_map(|(name, role)| rights_text::statements(name, &role.grants)));
        all.extend(users.flat_map(|user| rights_text::statements(user.name(), &user.grants)));
        all
    }

    /// The grants of a user or a role.
    pub fn grants(&self, name: &str) -> Option<&Grants> {
        let user = self.users.get(name).map(|user| &user.grants);
        user.or_else(|| self.roles.get(name).map(|role| &role.grants))
    }

    /// The statements that SHOW GRANTS shows.
    pub fn grant_statements(&self, name: &str) -> Vec<AccessStatement> {
        self.grants(name).map(|grants| rights_text::statements(name, grants)).unwrap_or_default()
    }

    /// The condition that the rows of a table satisfy which a user with these roles may see; `None` for all rows.
    pub fn row_filter<'a>(
        &'a self,
        database: &str,
        table: &str,
        names: &(dyn Fn(&RoleSet) -> bool + 'a),
    ) -> Option<Expr> {
        let mut permissive: Option<Expr> = None;
        let mut restrictive: Option<Expr> = None;
        for (key, policy) in &self.policies {
            let applies = policy.to.as_ref().is_some_and(names);
            let Some(Some(filter)) = &policy.filter else { continue };
            if !applies || !key.covers(database, table) {
                continue;
            }
            match policy.restrictive {
                Some(true) => restrictive = Some(joined(restrictive, filter, basalt_sql::ast::BinaryOp::And)),
                _ => permissive = Some(joined(permissive, filter, basalt_sql::ast::BinaryOp::Or)),
            }
        }
        match (permissive, restrictive) {
            (Some(permissive), Some(filter)) => {
                Some(joined(Some(permissive), &filter, basalt_sql::ast::BinaryOp::And))
            }
            (one, other) => one.or(other),
        }
    }
}

fn grantees_statement(user: &User) -> Option<AccessStatement> {
    let grantees = user.definition.grantees.clone()?;
    let mut definition = User::new(user.name()).definition;
    definition.mode = DefinitionMode::Alter { if_exists: false };
    (definition.authentication, definition.grantees) = (None, Some(grantees));
    Some(AccessStatement::User(definition))
}

fn joined(left: Option<Expr>, right: &Expr, op: basalt_sql::ast::BinaryOp) -> Expr {
    match left {
        Some(left) => Expr::Binary { op, left: Box::new(left), right: Box::new(right.clone()) },
        None => right.clone(),
    }
}
