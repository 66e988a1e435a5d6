//! Access control.

use std::fmt::{self, Display, Formatter};

use super::{Comma, Name, QuotedName, Text, flag, names};
use crate::ast::{
    ALL_TABLES, AccessKind, AccessStatement, Authentication, CertificateField, DefinitionMode,
    DropAccessEntity, Ident, ObjectName, PasswordKind, PasswordText, ProfileDefinition, ProfileElement,
    QuotaDefinition, QuotaInterval, RoleDefinition, RoleSet, RowPolicyDefinition, SettingConstraint,
    ShowAccess, UserDefinition, UserHost,
};

impl Display for AccessStatement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AccessStatement::User(user) => user.fmt(f),
            AccessStatement::Role(role) => role.fmt(f),
            AccessStatement::RowPolicy(policy) => policy.fmt(f),
            AccessStatement::Quota(quota) => quota.fmt(f),
            AccessStatement::SettingsProfile(profile) => profile.fmt(f),
            AccessStatement::Drop(drop) => drop.fmt(f),
            AccessStatement::Grant(grant) => grant.fmt(f),
            AccessStatement::Revoke(revoke) => revoke.fmt(f),
            AccessStatement::SetRole(roles) => write!(f, "SET ROLE {roles}"),
            AccessStatement::SetDefaultRole { roles, users } => {
                write!(f, "SET DEFAULT ROLE {roles} TO {}", Comma(&names(users)))
            }
        }
    }
}

/// `CREATE USER IF NOT EXISTS a, b` and `ALTER USER a RENAME TO b`.
fn head(
    f: &mut Formatter<'_>,
    mode: DefinitionMode,
    kind: &str,
    name_list: &[impl Display],
    new_name: Option<&Ident>,
) -> fmt::Result {
    match mode {
        DefinitionMode::Create { or_replace, if_not_exists } => {
            f.write_str("CREATE")?;
            write!(f, " {kind}")?;
            flag(f, or_replace, "OR REPLACE")?;
            flag(f, if_not_exists, "IF NOT EXISTS")?;
        }
        DefinitionMode::Alter { if_exists } => {
            write!(f, "ALTER {kind}")?;
            flag(f, if_exists, "IF EXISTS")?;
        }
    }
    write!(f, " {}", Comma(name_list))?;
    new_name.map_or(Ok(()), |name| write!(f, " RENAME TO {}", Text(name.as_bytes())))
}

fn rename(f: &mut Formatter<'_>, new_name: Option<&Ident>) -> fmt::Result {
    new_name.map_or(Ok(()), |name| write!(f, " RENAME TO {}", Name(name)))
}

/// `parent` is the word before the name of another profile.
fn settings_clause(
    f: &mut Formatter<'_>,
    parent: &str,
    settings: Option<&Vec<ProfileElement>>,
) -> fmt::Result {
    let Some(settings) = settings else { return Ok(()) };
    let text = |element: &ProfileElement| match element {
        ProfileElement::Profile(name) => format!("{parent} {}", QuotedName(name)),
        ProfileElement::Setting(setting) => setting.to_string(),
    };
    match settings.is_empty() {
        true => f.write_str(" SETTINGS NONE"),
        false => write!(f, " SETTINGS {}", Comma(&settings.iter().map(text).collect::<Vec<_>>())),
    }
}

fn to_clause(f: &mut Formatter<'_>, to: Option<&RoleSet>) -> fmt::Result {
    to.map_or(Ok(()), |to| write!(f, " TO {to}"))
}

impl Display for UserDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head(f, self.mode, "USER", &names(&self.names), self.new_name.as_ref())?;
        match self.authentication.as_deref() {
            None => {}
            Some([Authentication::NoPassword]) => f.write_str(" IDENTIFIED WITH no_password")?,
            Some(methods) => write!(f, " IDENTIFIED WITH {}", Comma(methods))?,
        }
        match self.hosts.as_deref() {
            None => {}
            Some([]) => f.write_str(" HOST NONE")?,
            Some(hosts) => write!(f, " HOST {}", Comma(hosts))?,
        }
        if let Some(until) = &self.valid_until {
            write!(f, " VALID UNTIL {}", Text(until.as_bytes()))?;
        }
        if let Some(roles) = &self.default_roles {
            write!(f, " DEFAULT ROLE {roles}")?;
        }
        match self.default_database.as_deref() {
            None => {}
            Some("") => f.write_str(" DEFAULT DATABASE NONE")?,
            Some(name) => write!(f, " DEFAULT DATABASE {}", Name(name))?,
        }
        if let Some(grantees) = &self.grantees {
            match grantees.all {
                true if grantees.except.is_empty() => f.write_str(" GRANTEES ANY")?,
                true => write!(f, " GRANTEES ANY EXCEPT {}", Comma(&names(&grantees.except)))?,
                false => write!(f, " GRANTEES {grantees}")?,
            }
        }
        settings_clause(f, "PROFILE", self.settings.as_ref())
    }
}

impl Display for Authentication {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Authentication::NoPassword => f.write_str("no_password"),
            Authentication::Password(kind, text) => write_password(f, *kind, text),
            Authentication::Certificate(field, names) => {
                let texts: Vec<Text<'_>> = names.iter().map(|name| Text(name.as_bytes())).collect();
                let field = match field {
                    CertificateField::CommonName => "CN",
                    CertificateField::AlternativeName => "SAN",
                };
                write!(f, "ssl_certificate {field} {}", Comma(&texts))
            }
        }
    }
}

fn write_password(f: &mut Formatter<'_>, kind: PasswordKind, text: &PasswordText) -> fmt::Result {
    let name = match kind {
        PasswordKind::Plaintext => "plaintext",
        PasswordKind::Sha256 => "sha256",
        PasswordKind::DoubleSha1 => "double_sha1",
        PasswordKind::Bcrypt => "bcrypt",
        PasswordKind::ScramSha256 => "scram_sha256",
    };
    match text {
        PasswordText::Hidden => write!(f, "{name}_password"),
        PasswordText::Password(password) => write!(f, "{name}_password BY {}", Text(password.as_bytes())),
        PasswordText::Hash { hash, salt } => {
            write!(f, "{name}_hash BY {}", Text(hash.as_bytes()))?;
            if salt.is_empty() { Ok(()) } else { write!(f, " SALT {}", Text(salt.as_bytes())) }
        }
    }
}

impl Display for UserHost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            UserHost::Any => f.write_str("ANY"),
            UserHost::Local => f.write_str("LOCAL"),
            UserHost::Ip(address) => write!(f, "IP {}", Text(address.as_bytes())),
        }
    }
}

impl Display for RoleDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head(f, self.mode, "ROLE", &names(&self.names), self.new_name.as_ref())?;
        settings_clause(f, "PROFILE", self.settings.as_ref())
    }
}

impl Display for ProfileDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let quoted: Vec<QuotedName<'_>> = self.names.iter().map(|name| QuotedName(name)).collect();
        head(f, self.mode, "SETTINGS PROFILE", &quoted, self.new_name.as_ref())?;
        settings_clause(f, "INHERIT", self.settings.as_ref())?;
        to_clause(f, self.to.as_ref())
    }
}

impl Display for RowPolicyDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head(f, self.mode, "ROW POLICY", &names(&self.names), None)?;
        write_tables(f, &self.tables)?;
        rename(f, self.new_name.as_ref())?;
        if let Some(restrictive) = self.restrictive {
            f.write_str(if restrictive { " AS RESTRICTIVE" } else { " AS PERMISSIVE" })?;
        }
        match &self.filter {
            None => {}
            Some(None) => f.write_str(" FOR SELECT USING NONE")?,
            Some(Some(filter)) => write!(f, " FOR SELECT USING {filter}")?,
        }
        to_clause(f, self.to.as_ref())
    }
}

impl Display for QuotaDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head(f, self.mode, "QUOTA", &names(&self.names), None)?;
        rename(f, self.new_name.as_ref())?;
        match self.keyed_by.as_deref() {
            None => {}
            Some("") => f.write_str(" NOT KEYED")?,
            Some(key) => write!(f, " KEYED BY {key}")?,
        }
        if let Some(intervals) = self.intervals.as_ref().filter(|intervals| !intervals.is_empty()) {
            write!(f, " {}", Comma(intervals))?;
        }
        to_clause(f, self.to.as_ref())
    }
}

impl Display for QuotaInterval {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("FOR")?;
        flag(f, self.randomized, "RANDOMIZED")?;
        const UNITS: &[(&str, u64)] = &[
            ("year", 31_556_952),
            ("quarter", 7_889_238),
            ("month", 2_629_746),
            ("week", 604_800),
            ("day", 86_400),
            ("hour", 3600),
            ("minute", 60),
            ("second", 1),
        ];
        let whole = UNITS
            .iter()
            .find(|(_, seconds)| self.seconds >= *seconds && self.seconds.is_multiple_of(*seconds));
        let (unit, seconds) = whole.copied().unwrap_or(("second", 1));
        write!(f, " INTERVAL {} {unit}", self.seconds / seconds)?;
        match self.limits.as_deref() {
            None => f.write_str(" NO LIMITS"),
            Some([]) => f.write_str(" TRACKING ONLY"),
            Some(limits) => {
                let texts = limits.iter().map(|(name, most)| format!("{} = {most}", Name(name)));
                write!(f, " MAX {}", Comma(&texts.collect::<Vec<_>>()))
            }
        }
    }
}

impl Display for RoleSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            RoleSet { default: true, .. } => f.write_str("DEFAULT"),
            RoleSet { all: true, except, .. } if except.is_empty() => f.write_str("ALL"),
            RoleSet { all: true, except, .. } => write!(f, "ALL EXCEPT {}", Comma(&names(except))),
            RoleSet { names: listed, .. } if listed.is_empty() => f.write_str("NONE"),
            RoleSet { names: listed, .. } => Comma(&names(listed)).fmt(f),
        }
    }
}

impl Display for SettingConstraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Name(&self.name).fmt(f)?;
        for (words, value) in [("=", &self.value), ("MIN", &self.min), ("MAX", &self.max)] {
            if let Some(value) = value {
                write!(f, " {words} {value}")?;
            }
        }
        match self.readonly {
            None => Ok(()),
            Some(true) => f.write_str(" CONST"),
            Some(false) => f.write_str(" WRITABLE"),
        }
    }
}

impl Display for DropAccessEntity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DROP {}", self.kind.words())?;
        flag(f, self.if_exists, "IF EXISTS")?;
        write!(f, " {}", Comma(&names(&self.names)))?;
        write_tables(f, &self.tables)
    }
}

/// `ON db.table, db.*`; nothing for an empty list.
fn write_tables(f: &mut Formatter<'_>, tables: &[ObjectName]) -> fmt::Result {
    let text = |table: &ObjectName| match (&table.database, table.name.as_str()) {
        (Some(database), ALL_TABLES) => format!("{}.*", Name(database)),
        (None, ALL_TABLES) => "*".to_owned(),
        _ => table.to_string(),
    };
    match tables.is_empty() {
        true => Ok(()),
        false => write!(f, " ON {}", Comma(&tables.iter().map(text).collect::<Vec<_>>())),
    }
}

impl Display for ShowAccess {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ShowAccess::Entities(kind) => f.write_str(match kind {
                AccessKind::User => "USERS",
                AccessKind::Role => "ROLES",
                AccessKind::SettingsProfile => "SETTINGS PROFILES",
                AccessKind::RowPolicy => "ROW POLICIES",
                AccessKind::Quota => "QUOTAS",
            }),
            ShowAccess::CurrentRoles => f.write_str("CURRENT ROLES"),
            ShowAccess::EnabledRoles => f.write_str("ENABLED ROLES"),
            ShowAccess::Create { kind, names: listed, tables } => {
                write!(f, "CREATE {}", kind.words())?;
                if !listed.is_empty() {
                    write!(f, " {}", Comma(&names(listed)))?;
                }
                write_tables(f, tables)
            }
            ShowAccess::Grants { names: listed } if listed.is_empty() => f.write_str("GRANTS"),
            ShowAccess::Grants { names: listed } => write!(f, "GRANTS FOR {}", Comma(&names(listed))),
            ShowAccess::All => f.write_str("ACCESS"),
            ShowAccess::Privileges => f.write_str("PRIVILEGES"),
        }
    }
}
