//! GRANT and REVOKE.

use super::access::access;
use super::cursor::{Cursor, Parsed};
use crate::ast::{
    AccessStatement, Grant, GrantTarget, Granted, NamePattern, PrivilegesOn, Revoke, Statement,
};
use crate::lexer::{Symbol, TokenKind};

/// Privileges that are printed in another way than in capital letters.
const PRINTED: &[(&str, &str)] = &[
    ("DICTGET", "dictGet"),
    ("DISPLAYSECRETSINSHOWANDSELECT", "displaySecretsInShowAndSelect"),
    ("NONE", "USAGE"),
    ("NO PRIVILEGES", "USAGE"),
];

impl Cursor<'_> {
    /// Starts after GRANT.
    pub(super) fn parse_grant(&mut self) -> Parsed<Statement> {
        self.refuse_cluster()?;
        if self.is_phrase("CURRENT GRANTS") {
            return Err(self.not_implemented("GRANT CURRENT GRANTS"));
        }
        let what = self.parse_granted()?;
        self.expect("TO")?;
        let to = self.parse_role_set()?;
        let (mut with_option, mut replace) = (false, false);
        while self.is_word("WITH") {
            match () {
                () if self.eat("WITH GRANT OPTION") || self.eat("WITH ADMIN OPTION") => with_option = true,
                () if self.eat("WITH REPLACE OPTION") => replace = true,
                () => return Err(self.unexpected()),
            }
        }
        Ok(access(AccessStatement::Grant(Grant { what, to, with_option, replace })))
    }

    /// Starts after REVOKE.
    pub(super) fn parse_revoke(&mut self) -> Parsed<Statement> {
        self.refuse_cluster()?;
        let option_only = self.eat("GRANT OPTION FOR") || self.eat("ADMIN OPTION FOR");
        let what = self.parse_granted()?;
        self.expect("FROM")?;
        let from = self.parse_role_set()?;
        Ok(access(AccessStatement::Revoke(Revoke { what, from, option_only })))
    }

    /// Roles are names alone; privileges have `ON`.
    fn parse_granted(&mut self) -> Parsed<Granted> {
        if !self.has_privileges() {
            return self.parse_role_set().map(Granted::Roles);
        }
        let mut list = Vec::new();
        loop {
            let mut privileges = vec![self.parse_privilege()?];
            while self.eat_symbol(Symbol::Comma) {
                privileges.push(self.parse_privilege()?);
            }
            self.expect("ON")?;
            list.push(PrivilegesOn { privileges, target: self.parse_grant_target()? });
            if !self.eat_symbol(Symbol::Comma) {
                return Ok(Granted::Privileges(list));
            }
        }
    }

    /// Whether `ON` comes before the end of the statement.
    fn has_privileges(&mut self) -> bool {
        let mut ahead = 0;
        loop {
            match self.peek_at(ahead).kind {
                TokenKind::End | TokenKind::Symbol(Symbol::Semicolon) | TokenKind::Fault(_) => return false,
                _ if self.is_word_at(ahead, "ON") => return true,
                _ if self.is_one_of_at(ahead, &["TO", "FROM"]) => return false,
                _ => ahead += 1,
            }
        }
    }

    /// `ALTER UPDATE(a, b)`: the words up to a bracket, a comma or ON, and columns.
    fn parse_privilege(&mut self) -> Parsed<(String, Vec<String>)> {
        let mut words = Vec::new();
        while self.peek_kind() == TokenKind::Word && !self.is_word("ON") {
            let token = self.take();
            words.push(String::from_utf8_lossy(self.text(token)).to_ascii_uppercase());
        }
        if words.is_empty() {
            self.note("privilege");
            return Err(self.unexpected());
        }
        let columns = match self.is_symbol(Symbol::OpenParen) {
            true => self.parse_parenthesized(Cursor::parse_column_name)?,
            false => Vec::new(),
        };
        let words = words.join(" ");
        let printed = PRINTED.iter().find(|(upper, _)| *upper == words);
        Ok((printed.map_or(words, |(_, printed)| (*printed).to_owned()), columns))
    }

    /// `*.*`, `db.*`, `db.table`, `table`, `*`, each name with an optional `*` at its end.
    pub(super) fn parse_grant_target(&mut self) -> Parsed<GrantTarget> {
        let first = self.parse_name_pattern()?;
        if self.eat_symbol(Symbol::Dot) {
            let table = self.parse_name_pattern()?;
            return Ok(GrantTarget { database: first, table, in_current_database: false });
        }
        match first {
            // `logs*` without a dot is a prefix of databases, as `logs*.*`.
            Some(pattern) if pattern.is_prefix => {
                Ok(GrantTarget { database: Some(pattern), table: None, in_current_database: false })
            }
            table => Ok(GrantTarget { database: None, table, in_current_database: true }),
        }
    }

    /// `*` is `None`.
    fn parse_name_pattern(&mut self) -> Parsed<Option<NamePattern>> {
        if self.eat_symbol(Symbol::Asterisk) {
            return Ok(None);
        }
        let start = self.peek().start;
        let name = self.parse_ident()?;
        let is_adjacent = self.peek().start == self.end_of_last() && start < self.end_of_last();
        let is_prefix = is_adjacent && self.eat_symbol(Symbol::Asterisk);
        Ok(Some(NamePattern { name, is_prefix }))
    }
}
