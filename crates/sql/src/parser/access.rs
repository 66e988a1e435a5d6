//! CREATE, ALTER and DROP of users, roles, row policies, quotas and settings profiles, and SET ROLE.

use super::cursor::{Cursor, Parsed};
use crate::ast::{
    ALL_TABLES, AccessKind, AccessStatement, Authentication, CertificateField, DefinitionMode,
    DropAccessEntity, Ident, ObjectName, PasswordKind, PasswordText, ProfileDefinition, ProfileElement,
    QuotaDefinition, QuotaInterval, RoleDefinition, RoleSet, RowPolicyDefinition, SettingConstraint,
    Statement, UserDefinition, UserHost,
};
use crate::lexer::{Symbol, TokenKind};

/// The words of each kind after CREATE, ALTER and DROP.
const KINDS: &[(&str, AccessKind)] = &[
    ("USER", AccessKind::User),
    ("ROLE", AccessKind::Role),
    ("SETTINGS PROFILE", AccessKind::SettingsProfile),
    ("PROFILE", AccessKind::SettingsProfile),
    ("ROW POLICY", AccessKind::RowPolicy),
    ("POLICY", AccessKind::RowPolicy),
    ("QUOTA", AccessKind::Quota),
];

/// The words of each kind of password: `.._password` is followed by the password, `.._hash` by what is stored of it.
const PASSWORD_WORDS: &[(&str, &str, PasswordKind)] = &[
    ("plaintext_password", "plaintext_hash", PasswordKind::Plaintext),
    ("sha256_password", "sha256_hash", PasswordKind::Sha256),
    ("double_sha1_password", "double_sha1_hash", PasswordKind::DoubleSha1),
    ("bcrypt_password", "bcrypt_hash", PasswordKind::Bcrypt),
    ("scram_sha256_password", "scram_sha256_hash", PasswordKind::ScramSha256),
];

/// Seconds of a unit of a quota's interval.
const UNIT_SECONDS: &[(&str, u64)] = &[
    ("SECOND", 1),
    ("MINUTE", 60),
    ("HOUR", 3600),
    ("DAY", 86_400),
    ("WEEK", 604_800),
    ("MONTH", 2_629_746),
    ("QUARTER", 7_889_238),
    ("YEAR", 31_556_952),
];

pub(super) fn access(statement: AccessStatement) -> Statement {
    Statement::Access(Box::new(statement))
}

impl Cursor<'_> {
    /// Takes the words of a kind of entity, if they come.
    pub(super) fn eat_access_kind(&mut self) -> Option<AccessKind> {
        KINDS.iter().find(|(words, _)| self.eat(words)).map(|&(_, kind)| kind)
    }

    /// The rest of CREATE or ALTER, after the words of the kind.
    pub(super) fn parse_access_definition(
        &mut self,
        kind: AccessKind,
        mut mode: DefinitionMode,
    ) -> Parsed<Statement> {
        match &mut mode {
            DefinitionMode::Create { or_replace, if_not_exists } => {
                *or_replace |= self.eat("OR REPLACE");
                *if_not_exists = self.eat_if_not_exists();
            }
            DefinitionMode::Alter { if_exists } => *if_exists = self.eat_if_exists(),
        }
        let names = self.parse_list(Cursor::parse_entity_name)?;
        let statement = match kind {
            AccessKind::User => self.parse_user(mode, names).map(AccessStatement::User),
            AccessKind::Role => self.parse_role(mode, names).map(AccessStatement::Role),
            AccessKind::SettingsProfile => {
                self.parse_profile(mode, names).map(AccessStatement::SettingsProfile)
            }
            AccessKind::RowPolicy => self.parse_row_policy(mode, names).map(AccessStatement::RowPolicy),
            AccessKind::Quota => self.parse_quota(mode, names).map(AccessStatement::Quota),
        };
        statement.map(access)
    }

    /// The rest of DROP, after the words of the kind.
    pub(super) fn parse_drop_access(&mut self, kind: AccessKind) -> Parsed<Statement> {
        let if_exists = self.eat_if_exists();
        let names = self.parse_list(Cursor::parse_entity_name)?;
        self.refuse_cluster()?;
        let tables = self.parse_policy_tables(kind)?;
        Ok(access(AccessStatement::Drop(DropAccessEntity { kind, if_exists, names, tables })))
    }

    /// `ON table, ..` of a row policy.
    pub(super) fn parse_policy_tables(&mut self, kind: AccessKind) -> Parsed<Vec<ObjectName>> {
        if kind != AccessKind::RowPolicy {
            return Ok(Vec::new());
        }
        self.expect("ON")?;
        self.parse_list(|cursor| {
            let is_database = cursor.is_symbol_at(1, Symbol::Dot) && cursor.is_symbol_at(2, Symbol::Asterisk);
            if !is_database && !cursor.is_symbol(Symbol::Asterisk) {
                return cursor.parse_object_name();
            }
            let database = if is_database { Some(cursor.parse_ident()?) } else { None };
            let _dot = cursor.eat_symbol(Symbol::Dot);
            cursor.expect_symbol(Symbol::Asterisk)?;
            Ok(ObjectName { database, name: ALL_TABLES.to_owned() })
        })
    }

    /// The name of a user, a role and so on: a word, a quoted name or a string.
    pub(super) fn parse_entity_name(&mut self) -> Parsed<Ident> {
        if self.peek_kind() == TokenKind::String { self.parse_string() } else { self.parse_ident() }
    }

    fn parse_new_name(&mut self) -> Parsed<Option<Ident>> {
        if self.eat("RENAME TO") { self.parse_entity_name().map(Some) } else { Ok(None) }
    }

    fn parse_user(&mut self, mode: DefinitionMode, names: Vec<Ident>) -> Parsed<UserDefinition> {
        self.refuse_cluster()?;
        let mut user = UserDefinition {
            mode,
            names,
            new_name: self.parse_new_name()?,
            authentication: None,
            hosts: None,
            valid_until: None,
            default_roles: None,
            default_database: None,
            grantees: None,
            settings: None,
        };
        while !self.at_statement_end() {
            match () {
                () if self.eat("NOT IDENTIFIED") => {
                    user.authentication = Some(vec![Authentication::NoPassword]);
                }
                () if self.eat("IDENTIFIED") => user.authentication = Some(self.parse_authentication()?),
                () if self.eat("HOST") => user.hosts = Some(self.parse_hosts()?),
                () if self.eat("VALID UNTIL") => user.valid_until = Some(self.parse_string()?),
                () if self.eat("DEFAULT ROLE") => user.default_roles = Some(self.parse_role_set()?),
                () if self.eat("DEFAULT DATABASE NONE") => user.default_database = Some(String::new()),
                () if self.eat("DEFAULT DATABASE") => user.default_database = Some(self.parse_ident()?),
                () if self.eat("GRANTEES") => user.grantees = Some(self.parse_role_set()?),
                () if self.eat_settings_word() => user.settings = Some(self.parse_profile_elements()?),
                () => return Err(self.unexpected()),
            }
        }
        Ok(user)
    }

    /// Starts after IDENTIFIED.
    fn parse_authentication(&mut self) -> Parsed<Vec<Authentication>> {
        if self.eat("BY") {
            let password = PasswordText::Password(self.parse_string()?);
            return Ok(vec![Authentication::Password(PasswordKind::Sha256, password)]);
        }
        self.expect("WITH")?;
        self.parse_list(Cursor::parse_authentication_method)
    }

    /// Starts after `ssl_certificate`. A comma begins another name, or another method.
    fn parse_certificate(&mut self) -> Parsed<Authentication> {
        let field = match self.eat("SAN") {
            true => CertificateField::AlternativeName,
            false => self.expect("CN").map(|()| CertificateField::CommonName)?,
        };
        let mut names = vec![self.parse_string()?];
        while self.is_symbol(Symbol::Comma) && self.peek_at(1).kind == TokenKind::String {
            self.expect_symbol(Symbol::Comma)?;
            names.push(self.parse_string()?);
        }
        Ok(Authentication::Certificate(field, names))
    }

    fn parse_authentication_method(&mut self) -> Parsed<Authentication> {
        if self.eat("no_password") {
            return Ok(Authentication::NoPassword);
        }
        if self.eat("ssl_certificate") {
            return self.parse_certificate();
        }
        if self.eat("BY") {
            let password = PasswordText::Password(self.parse_string()?);
            return Ok(Authentication::Password(PasswordKind::Sha256, password));
        }
        for &(password_word, hash_word, kind) in PASSWORD_WORDS {
            if self.eat(password_word) {
                self.expect("BY")?;
                let password = PasswordText::Password(self.parse_string()?);
                return Ok(Authentication::Password(kind, password));
            }
            if self.eat(hash_word) {
                self.expect("BY")?;
                let hash = self.parse_string()?;
                let salt = if self.eat("SALT") { self.parse_string()? } else { String::new() };
                return Ok(Authentication::Password(kind, PasswordText::Hash { hash, salt }));
            }
        }
        for other in ["ldap", "kerberos", "ssh_key", "http", "jwt"] {
            if self.is_word(other) {
                return Err(self.not_implemented(format!("authentication by {other}")));
            }
        }
        Err(self.unexpected())
    }

    fn parse_hosts(&mut self) -> Parsed<Vec<UserHost>> {
        if self.eat("NONE") {
            return Ok(Vec::new());
        }
        self.parse_list(|cursor| match () {
            () if cursor.eat("ANY") => Ok(UserHost::Any),
            () if cursor.eat("LOCAL") => Ok(UserHost::Local),
            () if cursor.eat("IP") => cursor.parse_string().map(UserHost::Ip),
            () if cursor.is_one_of(&["NAME", "REGEXP", "LIKE"]) => {
                Err(cursor.not_implemented("HOST by name: name addresses with IP"))
            }
            () => cursor.parse_string().map(UserHost::Ip),
        })
    }

    fn parse_role(&mut self, mode: DefinitionMode, names: Vec<Ident>) -> Parsed<RoleDefinition> {
        self.refuse_cluster()?;
        let new_name = self.parse_new_name()?;
        let settings = if self.eat_settings_word() { Some(self.parse_profile_elements()?) } else { None };
        Ok(RoleDefinition { mode, names, new_name, settings })
    }

    fn parse_profile(&mut self, mode: DefinitionMode, names: Vec<Ident>) -> Parsed<ProfileDefinition> {
        self.refuse_cluster()?;
        let new_name = self.parse_new_name()?;
        let settings = if self.eat_settings_word() { Some(self.parse_profile_elements()?) } else { None };
        Ok(ProfileDefinition { mode, names, new_name, settings, to: self.parse_to()? })
    }

    fn parse_to(&mut self) -> Parsed<Option<RoleSet>> {
        if self.eat("TO") { self.parse_role_set().map(Some) } else { Ok(None) }
    }

    fn parse_row_policy(&mut self, mode: DefinitionMode, names: Vec<Ident>) -> Parsed<RowPolicyDefinition> {
        self.refuse_cluster()?;
        let tables = self.parse_policy_tables(AccessKind::RowPolicy)?;
        let new_name = self.parse_new_name()?;
        let mut policy =
            RowPolicyDefinition { mode, names, tables, new_name, filter: None, restrictive: None, to: None };
        while !self.at_statement_end() {
            match () {
                () if self.eat("FOR SELECT") => {}
                () if self.eat("USING NONE") => policy.filter = Some(None),
                () if self.eat("USING") => policy.filter = Some(Some(self.parse_expr()?)),
                () if self.eat("AS RESTRICTIVE") => policy.restrictive = Some(true),
                () if self.eat("AS PERMISSIVE") => policy.restrictive = Some(false),
                () if self.is_word("TO") => policy.to = self.parse_to()?,
                () => return Err(self.unexpected()),
            }
        }
        Ok(policy)
    }

    fn parse_quota(&mut self, mode: DefinitionMode, names: Vec<Ident>) -> Parsed<QuotaDefinition> {
        self.refuse_cluster()?;
        let new_name = self.parse_new_name()?;
        let keyed_by = match () {
            () if self.eat("NOT KEYED") => Some(String::new()),
            () if self.eat("KEYED BY") || self.eat("KEY BY") => {
                Some(self.parse_list(Cursor::parse_ident)?.join(", "))
            }
            () => None,
        };
        let mut intervals = Vec::new();
        while self.eat("FOR") {
            intervals.push(self.parse_quota_interval()?);
            let _comma = self.eat_symbol(Symbol::Comma);
        }
        let intervals = if intervals.is_empty() { None } else { Some(intervals) };
        Ok(QuotaDefinition { mode, names, new_name, keyed_by, intervals, to: self.parse_to()? })
    }

    /// Starts after FOR.
    fn parse_quota_interval(&mut self) -> Parsed<QuotaInterval> {
        let randomized = self.eat("RANDOMIZED");
        let _word = self.eat("INTERVAL");
        let count = self.parse_u64()?;
        let unit = self.parse_ident()?.to_ascii_uppercase();
        let unit = UNIT_SECONDS.iter().find(|(name, _)| *name == unit.trim_end_matches('S'));
        let Some(seconds) = unit.and_then(|(_, seconds)| count.checked_mul(*seconds)).filter(|&all| all > 0)
        else {
            return Err(self.refuse("the interval of a quota is a number above 0 and a unit of time"));
        };
        if self.eat("NO LIMITS") {
            return Ok(QuotaInterval { randomized, seconds, limits: None });
        }
        let mut limits = Vec::new();
        if self.eat("TRACKING ONLY") {
            return Ok(QuotaInterval { randomized, seconds, limits: Some(limits) });
        }
        self.expect("MAX")?;
        loop {
            let name = self.parse_ident()?.to_ascii_lowercase();
            let _equal = self.eat_symbol(Symbol::Equal);
            limits.push((name, self.parse_literal()?));
            if !self.is_symbol(Symbol::Comma) || self.is_word_at(1, "FOR") {
                return Ok(QuotaInterval { randomized, seconds, limits: Some(limits) });
            }
            self.take();
            let _word = self.eat("MAX");
        }
    }

    fn eat_settings_word(&mut self) -> bool {
        self.eat("SETTINGS") || self.eat("SETTING") || self.is_word("PROFILE")
    }

    fn parse_profile_elements(&mut self) -> Parsed<Vec<ProfileElement>> {
        if self.eat("NONE") {
            return Ok(Vec::new());
        }
        self.parse_list(|cursor| match () {
            () if cursor.eat("PROFILE") || cursor.eat("INHERIT") => {
                cursor.parse_entity_name().map(ProfileElement::Profile)
            }
            () => cursor.parse_setting_constraint().map(ProfileElement::Setting),
        })
    }

    fn parse_setting_constraint(&mut self) -> Parsed<SettingConstraint> {
        let name = self.parse_ident()?;
        let mut setting = SettingConstraint { name, value: None, min: None, max: None, readonly: None };
        loop {
            let place = match () {
                () if self.eat_symbol(Symbol::Equal) => &mut setting.value,
                () if self.eat("MIN") => &mut setting.min,
                () if self.eat("MAX") => &mut setting.max,
                () if self.eat("READONLY") || self.eat("CONST") => {
                    setting.readonly = Some(true);
                    continue;
                }
                () if self.eat("WRITABLE") => {
                    setting.readonly = Some(false);
                    continue;
                }
                () if !self.is_symbol(Symbol::Comma) && !self.at_statement_end() && !self.is_word("TO") => {
                    // The value may follow without `=`.
                    if setting.value.is_some() {
                        return Ok(setting);
                    }
                    &mut setting.value
                }
                () => return Ok(setting),
            };
            let _equal = self.eat_symbol(Symbol::Equal);
            *place = Some(self.parse_literal()?);
        }
    }

    /// `NONE`, `ALL`, `ANY`, `DEFAULT`, names, each with an optional `EXCEPT names`.
    pub(super) fn parse_role_set(&mut self) -> Parsed<RoleSet> {
        let mut set = RoleSet::default();
        match () {
            () if self.eat("NONE") => {}
            () if self.eat("ALL") || self.eat("ANY") => set.all = true,
            () => set.names = self.parse_list(Cursor::parse_entity_name)?,
        }
        if self.eat("EXCEPT") {
            set.except = self.parse_list(Cursor::parse_entity_name)?;
        }
        Ok(set)
    }

    /// `SET [DEFAULT] ROLE ..`, if it comes.
    pub(super) fn parse_set_role(&mut self) -> Parsed<Option<Statement>> {
        if self.eat("SET ROLE") {
            let roles = match self.eat("DEFAULT") {
                true => RoleSet { default: true, ..RoleSet::default() },
                false => self.parse_role_set()?,
            };
            return Ok(Some(access(AccessStatement::SetRole(roles))));
        }
        if self.eat("SET DEFAULT ROLE") {
            let roles = self.parse_role_set()?;
            self.expect("TO")?;
            let users = self.parse_list(Cursor::parse_entity_name)?;
            return Ok(Some(access(AccessStatement::SetDefaultRole { roles, users })));
        }
        Ok(None)
    }
}
