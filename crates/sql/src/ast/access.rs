//! Access control: users, roles, row policies, quotas, settings profiles, and grants.

use super::{Expr, Ident, Literal, ObjectName};

/// A statement of access control.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessStatement {
    User(UserDefinition),
    Role(RoleDefinition),
    RowPolicy(RowPolicyDefinition),
    Quota(QuotaDefinition),
    SettingsProfile(ProfileDefinition),
    Drop(DropAccessEntity),
    Grant(Grant),
    Revoke(Revoke),
    /// `SET ROLE ..`.
    SetRole(RoleSet),
    /// `SET DEFAULT ROLE .. TO user, ..`.
    SetDefaultRole {
        roles: RoleSet,
        users: Vec<Ident>,
    },
}

/// Whether a definition makes entities or changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionMode {
    Create {
        or_replace: bool,
        if_not_exists: bool,
    },
    /// What the definition does not mention stays as it is.
    Alter {
        if_exists: bool,
    },
}

/// `CREATE|ALTER USER ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct UserDefinition {
    pub mode: DefinitionMode,
    pub names: Vec<Ident>,
    pub new_name: Option<Ident>,
    /// Any of them is enough.
    pub authentication: Option<Vec<Authentication>>,
    pub hosts: Option<Vec<UserHost>>,
    /// `VALID UNTIL`: a date with time, or `infinity`.
    pub valid_until: Option<String>,
    pub default_roles: Option<RoleSet>,
    /// `DEFAULT DATABASE`; an empty name is none.
    pub default_database: Option<Ident>,
    /// The users and roles that the user may grant to.
    pub grantees: Option<RoleSet>,
    pub settings: Option<Vec<ProfileElement>>,
}

/// `CREATE|ALTER ROLE ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleDefinition {
    pub mode: DefinitionMode,
    pub names: Vec<Ident>,
    pub new_name: Option<Ident>,
    pub settings: Option<Vec<ProfileElement>>,
}

/// `CREATE|ALTER SETTINGS PROFILE ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileDefinition {
    pub mode: DefinitionMode,
    pub names: Vec<Ident>,
    pub new_name: Option<Ident>,
    pub settings: Option<Vec<ProfileElement>>,
    pub to: Option<RoleSet>,
}

/// The name of all tables of a database in a row policy.
pub const ALL_TABLES: &str = "*";

/// `CREATE|ALTER ROW POLICY name ON table ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct RowPolicyDefinition {
    pub mode: DefinitionMode,
    pub names: Vec<Ident>,
    pub tables: Vec<ObjectName>,
    pub new_name: Option<Ident>,
    /// The rows that are visible; `USING NONE` is `Some(None)`.
    pub filter: Option<Option<Expr>>,
    pub restrictive: Option<bool>,
    pub to: Option<RoleSet>,
}

/// `CREATE|ALTER QUOTA ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaDefinition {
    pub mode: DefinitionMode,
    pub names: Vec<Ident>,
    pub new_name: Option<Ident>,
    /// `KEYED BY`; `NOT KEYED` is an empty name.
    pub keyed_by: Option<String>,
    pub intervals: Option<Vec<QuotaInterval>>,
    pub to: Option<RoleSet>,
}

/// `FOR [RANDOMIZED] INTERVAL 1 hour MAX queries = 10, ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaInterval {
    pub randomized: bool,
    pub seconds: u64,
    /// Resource and maximum. An empty list counts only (`TRACKING ONLY`); `None` is the end of an interval
    /// (`NO LIMITS`).
    pub limits: Option<Vec<(Ident, Literal)>>,
}

/// How a user proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    NoPassword,
    Password(PasswordKind, PasswordText),
    /// A client certificate with one of these names.
    Certificate(CertificateField, Vec<String>),
}

/// Which names of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateField {
    CommonName,
    /// As `DNS:name`, `URI:address`, `IP:address` and `email:address`.
    AlternativeName,
}

/// What of a password is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordKind {
    Plaintext,
    Sha256,
    DoubleSha1,
    Bcrypt,
    ScramSha256,
}

/// A password, or what is stored of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordText {
    /// `BY 'password'`.
    Password(String),
    /// `BY 'hash' [SALT 'salt']` of the kinds `.._hash`.
    Hash { hash: String, salt: String },
    /// Left out where a definition is shown.
    Hidden,
}

/// A host that a user may connect from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserHost {
    Any,
    Local,
    /// An address or a network such as `10.0.0.0/8`.
    Ip(String),
}

/// Users and roles: `NONE`, `ALL`, names, `ALL EXCEPT names`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleSet {
    pub all: bool,
    /// `DEFAULT`, in SET ROLE: the default roles of the user. `ANY`, of grantees, is `all`.
    pub default: bool,
    pub names: Vec<Ident>,
    pub except: Vec<Ident>,
}

/// An entry of a SETTINGS clause of a user, a role or a profile.
#[derive(Clone, Debug, PartialEq)]
pub enum ProfileElement {
    /// `PROFILE 'name'`.
    Profile(Ident),
    Setting(SettingConstraint),
}

/// `name [= value] [MIN value] [MAX value] [READONLY|WRITABLE]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingConstraint {
    pub name: Ident,
    pub value: Option<Literal>,
    pub min: Option<Literal>,
    pub max: Option<Literal>,
    pub readonly: Option<bool>,
}

/// The kind of an entity of access control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    User,
    Role,
    SettingsProfile,
    RowPolicy,
    Quota,
}

/// `DROP USER|ROLE|.. [IF EXISTS] name, .. [ON table, ..]`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropAccessEntity {
    pub kind: AccessKind,
    pub if_exists: bool,
    pub names: Vec<Ident>,
    /// The tables of a row policy.
    pub tables: Vec<ObjectName>,
}

/// What GRANT gives and REVOKE takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Granted {
    Roles(RoleSet),
    Privileges(Vec<PrivilegesOn>),
}

/// `SELECT(a, b), INSERT ON db.table`.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivilegesOn {
    /// Names of privileges in upper case, as [`crate::ast::Ident`], and their columns; no columns are all.
    pub privileges: Vec<(String, Vec<Ident>)>,
    pub target: GrantTarget,
}

/// The objects of a privilege: `None` is `*`. `database: None, table: Some(..)` is a table of the current database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantTarget {
    pub database: Option<NamePattern>,
    pub table: Option<NamePattern>,
    /// Whether the database was not written: it is the current one.
    pub in_current_database: bool,
}

/// A name, or all names with a prefix: `logs_*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamePattern {
    pub name: String,
    pub is_prefix: bool,
}

/// `GRANT .. TO .. [WITH GRANT OPTION|WITH ADMIN OPTION] [WITH REPLACE OPTION]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    pub what: Granted,
    pub to: RoleSet,
    /// WITH GRANT OPTION, or WITH ADMIN OPTION for roles.
    pub with_option: bool,
    /// WITH REPLACE OPTION: what was granted before goes.
    pub replace: bool,
}

/// `REVOKE [GRANT OPTION FOR|ADMIN OPTION FOR] .. FROM ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct Revoke {
    pub what: Granted,
    pub from: RoleSet,
    pub option_only: bool,
}

impl RoleSet {
    /// Exactly these.
    pub fn of_names(names: Vec<Ident>) -> RoleSet {
        RoleSet { names, ..RoleSet::default() }
    }

    /// Every one.
    pub fn everyone() -> RoleSet {
        RoleSet { all: true, ..RoleSet::default() }
    }

    /// Whether the set has `name`.
    pub fn contains(&self, name: &str) -> bool {
        let is_in = |names: &[Ident]| names.iter().any(|one| one == name);
        if self.all { !is_in(&self.except) } else { is_in(&self.names) }
    }
}

impl NamePattern {
    /// Whether `name` is one of these.
    pub fn matches(&self, name: &str) -> bool {
        if self.is_prefix { name.starts_with(&self.name) } else { name == self.name }
    }

    /// Whether every name of `other` is one of these.
    pub fn covers(&self, other: &NamePattern) -> bool {
        match self.is_prefix {
            true => other.name.starts_with(&self.name),
            false => self == other,
        }
    }
}

impl PasswordText {
    fn hide(&mut self) {
        *self = PasswordText::Hidden;
    }
}

impl UserDefinition {
    /// The definition as it may be shown: without passwords and what is stored of them.
    #[must_use]
    pub fn without_secrets(mut self) -> UserDefinition {
        for authentication in self.authentication.iter_mut().flatten() {
            if let Authentication::Password(_, text) = authentication {
                text.hide();
            }
        }
        self
    }
}

impl AccessKind {
    /// The words of SQL.
    pub fn words(self) -> &'static str {
        match self {
            AccessKind::User => "USER",
            AccessKind::Role => "ROLE",
            AccessKind::SettingsProfile => "SETTINGS PROFILE",
            AccessKind::RowPolicy => "ROW POLICY",
            AccessKind::Quota => "QUOTA",
        }
    }
}
