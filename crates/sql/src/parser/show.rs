//! SHOW and DESCRIBE.

use super::cursor::{Cursor, Parsed};
use crate::ast::{
    Describe, Ident, ObjectKind, ObjectName, Show, ShowFilter, ShowWhat, Statement, TableFactor,
};
use crate::lexer::{Symbol, TokenKind};

/// Kinds of SHOW that the tree cannot represent.
const NOT_IMPLEMENTED: &[&str] = &[
    "ACCESS",
    "CHANGED",
    "CLUSTER",
    "CLUSTERS",
    "CURRENT",
    "ENABLED",
    "EXTENDED",
    "FIELDS",
    "FILESYSTEM",
    "GRANTS",
    "INDEX",
    "INDEXES",
    "INDICES",
    "KEYS",
    "MERGES",
    "POLICIES",
    "PRIVILEGES",
    "PROFILES",
    "QUOTA",
    "QUOTAS",
    "ROLES",
    "ROW",
    "SETTING",
    "USERS",
];

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
        if self.is_phrase("FULL TABLES") || self.is_phrase("FULL COLUMNS") {
            return Err(self.not_implemented("SHOW FULL"));
        }
        if self.is_phrase("TEMPORARY TABLES") {
            return Err(self.not_implemented("SHOW TEMPORARY TABLES"));
        }
        match () {
            () if self.eat("DATABASES") || self.eat("SCHEMAS") => {
                Ok(ShowWhat::Databases { like: self.parse_show_filter()? })
            }
            () if self.eat("TABLES") => self.parse_show_tables(ObjectKind::Table),
            () if self.eat("VIEWS") => self.parse_show_tables(ObjectKind::View),
            () if self.eat("DICTIONARIES") => self.parse_show_tables(ObjectKind::Dictionary),
            () if self.eat("COLUMNS") => self.parse_show_columns(),
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

    fn parse_show_create(&mut self) -> Parsed<ShowWhat> {
        if self.is_one_of(&["USER", "ROLE", "QUOTA", "POLICY", "PROFILE"]) {
            return Err(self.not_implemented("SHOW CREATE of an access entity"));
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

    fn parse_show_columns(&mut self) -> Parsed<ShowWhat> {
        if !self.eat("FROM") {
            self.expect("IN")?;
        }
        let mut table = self.parse_object_name()?;
        if self.eat("FROM") || self.eat("IN") {
            table = ObjectName { database: Some(self.parse_ident()?), name: table.name };
        }
        Ok(ShowWhat::Columns { table, like: self.parse_show_filter()? })
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
