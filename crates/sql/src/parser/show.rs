//! SHOW and DESCRIBE.

use super::cursor::{Cursor, Parsed};
use crate::ast::{
    AccessKind, Describe, Ident, ObjectKind, ObjectName, Show, ShowAccess, ShowFilter, ShowWhat, Statement,
    TableFactor,
};
use crate::lexer::{Symbol, TokenKind};

/// Kinds of SHOW that the tree cannot represent.
const NOT_IMPLEMENTED: &[&str] = &["CHANGED", "CLUSTER", "FILESYSTEM", "MERGES", "QUOTA"];

impl Cursor<'_> {
    pub(super) fn parse_show(&mut self) -> Parsed<Statement> {
        self.expect("SHOW")?;
        let what = self.parse_show_what()?;
        Ok(Statement::Show(Show { what, format: self.parse_format()? }))
    }

    pub(super) fn parse_format(&mut self) -> Parsed<Option<Ident>> {
        if self.eat("FORMAT") { self.parse_ident().map(Some) } else { Ok(None) }
    }

    fn parse_show_what(&mut self) -> Parsed<ShowWhat> {
        if self.is_phrase("TEMPORARY TABLES") {
            return Err(self.not_implemented("SHOW TEMPORARY TABLES"));
        }
        if let Some(what) = self.parse_show_access()? {
            return Ok(ShowWhat::Access(what));
        }
        match () {
            () if self.eat("DATABASES") || self.eat("SCHEMAS") => {
                Ok(ShowWhat::Databases { like: self.parse_show_filter()? })
            }
            () if self.eat("FULL TABLES") => self.parse_show_full_tables(),
            () if self.eat("TABLES") => self.parse_show_tables(ObjectKind::Table),
            () if self.eat("VIEWS") => self.parse_show_tables(ObjectKind::View),
            () if self.eat("DICTIONARIES") => self.parse_show_tables(ObjectKind::Dictionary),
            () if self.eat_columns() => self.parse_show_columns(false),
            () if self.is_word("FULL") || self.is_phrase("EXTENDED FULL") => {
                self.eat("EXTENDED");
                self.expect("FULL")?;
                if self.eat_columns() { self.parse_show_columns(true) } else { Err(self.unexpected()) }
            }
            () if self.eat_indexes() => self.parse_show_indexes(),
            () if self.eat("CLUSTERS") => Ok(ShowWhat::Clusters),
            () if self.eat("SETTING") => Ok(ShowWhat::Setting { name: self.parse_ident()? }),
            () if self.is_one_of(&["TABLE", "VIEW", "DICTIONARY", "DATABASE"]) => self.parse_show_create(),
            () if self.eat("CREATE") => self.parse_show_create(),
            () if self.eat("PROCESSLIST") => Ok(ShowWhat::ProcessList),
            () if self.eat("SETTINGS") => Ok(ShowWhat::Settings { like: self.parse_show_filter()? }),
            () if self.eat("FUNCTIONS") => Ok(ShowWhat::Functions { like: self.parse_show_filter()? }),
            () if self.eat("ENGINES") => Ok(ShowWhat::Engines),
            () => Err(match NOT_IMPLEMENTED.iter().find(|word| self.is_word(word)) {
                Some(word) => self.not_implemented(format!("SHOW {word}")),
                None => self.unexpected(),
            }),
        }
    }

    /// SHOW of access control, except SHOW CREATE.
    fn parse_show_access(&mut self) -> Parsed<Option<ShowAccess>> {
        Ok(Some(match () {
            () if self.eat("USERS") => ShowAccess::Entities(AccessKind::User),
            () if self.eat("ROLES") => ShowAccess::Entities(AccessKind::Role),
            () if self.eat("PROFILES") || self.eat("SETTINGS PROFILES") => {
                ShowAccess::Entities(AccessKind::SettingsProfile)
            }
            () if self.eat("POLICIES") || self.eat("ROW POLICIES") => {
                ShowAccess::Entities(AccessKind::RowPolicy)
            }
            () if self.eat("QUOTAS") => ShowAccess::Entities(AccessKind::Quota),
            () if self.eat("CURRENT ROLES") => ShowAccess::CurrentRoles,
            () if self.eat("ENABLED ROLES") => ShowAccess::EnabledRoles,
            () if self.eat("GRANTS") => match self.eat("FOR") {
                true => ShowAccess::Grants { names: self.parse_list(Cursor::parse_entity_name)? },
                false => ShowAccess::Grants { names: Vec::new() },
            },
            () if self.eat("ACCESS") => ShowAccess::All,
            () if self.eat("PRIVILEGES") => ShowAccess::Privileges,
            () => return Ok(None),
        }))
    }

    fn parse_show_create(&mut self) -> Parsed<ShowWhat> {
        if let Some(kind) = self.eat_access_kind() {
            let is_own = kind == AccessKind::User && (self.at_statement_end() || self.eat("CURRENT_USER"));
            let names = if is_own { Vec::new() } else { self.parse_list(Cursor::parse_entity_name)? };
            let tables = self.parse_policy_tables(kind)?;
            return Ok(ShowWhat::Access(ShowAccess::Create { kind, names, tables }));
        }
        let kind = self.eat_object_kind().unwrap_or(ObjectKind::Table);
        Ok(ShowWhat::Create { kind, name: self.parse_object_name()? })
    }

    fn parse_show_tables(&mut self, kind: ObjectKind) -> Parsed<ShowWhat> {
        let database = if self.eat("FROM") || self.eat("IN") { Some(self.parse_ident()?) } else { None };
        let like = self.parse_show_filter()?;
        let limit = if self.eat("LIMIT") { Some(self.parse_u64()?) } else { None };
        Ok(ShowWhat::Tables { kind, database, like, limit })
    }

    fn parse_show_full_tables(&mut self) -> Parsed<ShowWhat> {
        match self.parse_show_tables(ObjectKind::Table)? {
            ShowWhat::Tables { database, like, limit, .. } => {
                Ok(ShowWhat::FullTables { database, like, limit })
            }
            other => Ok(other),
        }
    }

    fn eat_columns(&mut self) -> bool {
        self.eat("COLUMNS")
            || self.eat("FIELDS")
            || self.eat("EXTENDED COLUMNS")
            || self.eat("EXTENDED FIELDS")
    }

    fn eat_indexes(&mut self) -> bool {
        const WORDS: &[&str] = &["INDEX", "INDEXES", "INDICES", "KEYS"];
        if self.is_word("EXTENDED") && self.is_one_of_at(1, WORDS) {
            self.take();
        }
        WORDS.iter().any(|word| self.eat(word))
    }

    fn parse_show_columns(&mut self, full: bool) -> Parsed<ShowWhat> {
        let table = self.parse_from_table()?;
        Ok(ShowWhat::Columns { table, full, like: self.parse_show_filter()? })
    }

    fn parse_show_indexes(&mut self) -> Parsed<ShowWhat> {
        let table = self.parse_from_table()?;
        let filter = if self.eat("WHERE") { Some(self.parse_expr()?) } else { None };
        Ok(ShowWhat::Indexes { table, filter })
    }

    /// `FROM table [FROM database]`.
    fn parse_from_table(&mut self) -> Parsed<ObjectName> {
        if !self.eat("FROM") {
            self.expect("IN")?;
        }
        let table = self.parse_object_name()?;
        if self.eat("FROM") || self.eat("IN") {
            return Ok(ObjectName { database: Some(self.parse_ident()?), name: table.name });
        }
        Ok(table)
    }

    fn parse_show_filter(&mut self) -> Parsed<Option<ShowFilter>> {
        if self.eat("WHERE") {
            return self.parse_expr().map(|filter| Some(ShowFilter::Where(filter)));
        }
        let negated = self.eat("NOT");
        let case_insensitive = self.eat("ILIKE");
        if !case_insensitive && !self.eat("LIKE") {
            return if negated { Err(self.unexpected()) } else { Ok(None) };
        }
        let pattern = self.parse_string()?;
        Ok(Some(ShowFilter::Like { pattern, case_insensitive, negated }))
    }

    pub(super) fn parse_describe(&mut self) -> Parsed<Statement> {
        // The verb has two spellings.
        self.take();
        // TABLE is optional where a name or a parenthesis follows: a table may be called `table`.
        let noise = matches!(
            self.peek_at(1).kind,
            TokenKind::Word | TokenKind::QuotedName | TokenKind::Symbol(Symbol::OpenParen)
        );
        if noise && !self.is_word_at(1, "FORMAT") {
            self.eat("TABLE");
        }
        let factor = self.parse_factor()?;
        let format = self.parse_format()?;
        Ok(Statement::Describe(match factor {
            TableFactor::Table { name, alias: None, is_final: false, sample: None } => {
                Describe::Table { name, format }
            }
            TableFactor::Table { .. } => return Err(self.unexpected()),
            factor => Describe::Factor { factor: Box::new(factor), format },
        }))
    }
}
