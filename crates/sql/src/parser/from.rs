//! FROM: tables, functions, subqueries and joins.

use super::cursor::{Cursor, Parsed};
use crate::ast::{
    ArrayJoin, Expr, Ident, Join, JoinConstraint, JoinKind, JoinStrictness, ObjectName, TableExpr,
    TableFactor,
};
use crate::lexer::Symbol;

/// The words between two tables, without JOIN itself.
#[derive(Default)]
struct JoinWords {
    kind: Option<JoinKind>,
    strictness: Option<JoinStrictness>,
    global: bool,
}

impl Cursor<'_> {
    pub(super) fn parse_table_expr(&mut self) -> Parsed<TableExpr> {
        self.nested(|cursor| {
            let mut left = TableExpr::Factor(cursor.parse_factor()?);
            loop {
                left = if cursor.starts_array_join() {
                    cursor.parse_array_join(left)?
                } else if cursor.eat_symbol(Symbol::Comma) {
                    cursor.parse_comma_join(left)?
                } else if cursor.starts_join() {
                    cursor.parse_join(left)?
                } else {
                    cursor.note("JOIN");
                    return Ok(left);
                };
                cursor.wrap()?;
            }
        })
    }

    pub(super) fn starts_array_join(&mut self) -> bool {
        self.is_phrase("ARRAY JOIN")
            || self.is_phrase("LEFT ARRAY JOIN")
            || self.is_phrase("INNER ARRAY JOIN")
    }

    fn parse_array_join(&mut self, input: TableExpr) -> Parsed<TableExpr> {
        let left = self.eat("LEFT");
        let _noise = self.eat("INNER");
        self.expect("ARRAY JOIN")?;
        let items = self.parse_list(Cursor::parse_select_item)?;
        Ok(TableExpr::ArrayJoin(Box::new(ArrayJoin { input, left, items })))
    }

    fn parse_comma_join(&mut self, left: TableExpr) -> Parsed<TableExpr> {
        let right = TableExpr::Factor(self.parse_factor()?);
        Ok(TableExpr::Join(Box::new(Join {
            left,
            right,
            kind: JoinKind::Cross,
            strictness: None,
            global: false,
            constraint: JoinConstraint::None,
        })))
    }

    fn starts_join(&mut self) -> bool {
        const WORDS: &[&str] = &[
            "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "PASTE", "ANY", "ALL", "SEMI", "ANTI", "ASOF",
            "GLOBAL", "LOCAL",
        ];
        self.is_one_of(WORDS)
    }

    fn parse_join(&mut self, left: TableExpr) -> Parsed<TableExpr> {
        let words = self.parse_join_words()?;
        let kind = words.kind.unwrap_or(JoinKind::Inner);
        let right = TableExpr::Factor(self.parse_factor()?);
        let constraint = if matches!(kind, JoinKind::Cross | JoinKind::Paste) {
            JoinConstraint::None
        } else {
            self.parse_join_constraint()?
        };
        let JoinWords { strictness, global, .. } = words;
        Ok(TableExpr::Join(Box::new(Join { left, right, kind, strictness, global, constraint })))
    }

    /// `GLOBAL ANY LEFT OUTER JOIN` and every other order of these words.
    fn parse_join_words(&mut self) -> Parsed<JoinWords> {
        const KINDS: &[(&str, JoinKind)] = &[
            ("INNER", JoinKind::Inner),
            ("LEFT", JoinKind::Left),
            ("RIGHT", JoinKind::Right),
            ("FULL", JoinKind::Full),
            ("CROSS", JoinKind::Cross),
            ("PASTE", JoinKind::Paste),
        ];
        const STRICTNESSES: &[(&str, JoinStrictness)] = &[
            ("ALL", JoinStrictness::All),
            ("ANY", JoinStrictness::Any),
            ("SEMI", JoinStrictness::Semi),
            ("ANTI", JoinStrictness::Anti),
            ("ASOF", JoinStrictness::Asof),
        ];
        let mut words = JoinWords { global: self.eat("GLOBAL"), ..JoinWords::default() };
        let _noise = self.eat("LOCAL");
        while !self.eat("JOIN") {
            let kind = KINDS.iter().find(|(word, _)| self.is_word(word));
            let strictness = STRICTNESSES.iter().find(|(word, _)| self.is_word(word));
            match (kind, strictness) {
                (Some(&(_, kind)), _) if words.kind.is_none() => words.kind = Some(kind),
                (_, Some(&(_, strictness))) if words.strictness.is_none() => {
                    words.strictness = Some(strictness)
                }
                _ if self.is_word("OUTER") => {}
                _ => return Err(self.unexpected()),
            }
            self.take();
        }
        Ok(words)
    }

    fn parse_join_constraint(&mut self) -> Parsed<JoinConstraint> {
        if self.eat("ON") {
            return self.parse_aliased_expr().map(JoinConstraint::On);
        }
        self.expect("USING")?;
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_parenthesized(Cursor::parse_column_name).map(JoinConstraint::Using);
        }
        self.parse_list(Cursor::parse_column_name).map(JoinConstraint::Using)
    }

    /// A table, a function or a subquery, with its alias.
    pub(super) fn parse_factor(&mut self) -> Parsed<TableFactor> {
        if self.eat_symbol(Symbol::OpenParen) {
            if !(self.is_query_at(0) || self.is_symbol(Symbol::OpenParen)) {
                return Err(self.not_implemented("a join in parentheses"));
            }
            let query = Box::new(self.parse_query()?);
            self.expect_symbol(Symbol::CloseParen)?;
            let alias = self.parse_alias()?;
            self.refuse_table_modifiers()?;
            return self.parse_column_aliases(TableFactor::Subquery { query, alias });
        }
        if self.is_symbol(Symbol::OpenBrace) {
            return Err(self.not_implemented("a query parameter as the name of a table"));
        }
        if self.is_postgres()
            && let Some(set) = self.try_parse_set()?
        {
            return Ok(set);
        }
        if self.is_symbol_at(1, Symbol::OpenParen) {
            if self.is_one_of(&["view", "viewIfPermitted"]) && self.is_query_at(2) {
                return self.parse_view_call();
            }
            let call = self.parse_call()?;
            let alias = self.parse_alias()?;
            self.refuse_table_modifiers()?;
            return self.parse_column_aliases(TableFactor::Function { call, alias });
        }
        let name = self.parse_object_name()?;
        self.parse_table_modifiers(name)
    }

    /// `view(SELECT ..)` is a subquery. So is `viewIfPermitted(SELECT .. ELSE f(..))`: every user may read everything.
    fn parse_view_call(&mut self) -> Parsed<TableFactor> {
        let has_else = self.is_word("viewIfPermitted");
        self.take();
        self.expect_symbol(Symbol::OpenParen)?;
        let query = Box::new(self.parse_query()?);
        if has_else {
            self.expect("ELSE")?;
            self.parse_call()?;
        }
        self.expect_symbol(Symbol::CloseParen)?;
        let alias = self.parse_alias()?;
        self.refuse_table_modifiers()?;
        self.parse_column_aliases(TableFactor::Subquery { query, alias })
    }

    fn parse_table_modifiers(&mut self, name: ObjectName) -> Parsed<TableFactor> {
        let alias: Option<Ident> = self.parse_alias()?;
        let is_final = self.eat("FINAL");
        let sample: Option<(Expr, Option<Expr>)> = if self.eat("SAMPLE") {
            let ratio = self.parse_expr()?;
            let offset = if self.eat("OFFSET") { Some(self.parse_expr()?) } else { None };
            Some((ratio, offset))
        } else {
            None
        };
        self.parse_column_aliases(TableFactor::Table { name, alias, is_final, sample })
    }

    /// `(a, b)` after an alias.
    fn parse_column_aliases(&mut self, factor: TableFactor) -> Parsed<TableFactor> {
        let alias = match &factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::Subquery { alias, .. } => alias,
            TableFactor::Renamed { .. } => &None,
        };
        if alias.is_none() || !self.is_symbol(Symbol::OpenParen) {
            return Ok(factor);
        }
        let columns = self.parse_parenthesized(Cursor::parse_ident)?;
        Ok(TableFactor::Renamed { factor: Box::new(factor), columns })
    }

    fn refuse_table_modifiers(&mut self) -> Parsed<()> {
        if self.is_one_of(&["FINAL", "SAMPLE"]) {
            return Err(self.not_implemented("FINAL and SAMPLE after a function or a subquery"));
        }
        Ok(())
    }
}
