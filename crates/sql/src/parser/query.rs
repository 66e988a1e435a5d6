//! Queries: SELECTs joined by set operators, WITH, and the clauses after the last SELECT.

use super::cursor::{Cursor, Parsed};
use crate::ast::{Cte, InsertSource, IntoOutfile, Query, Select, SetExpr, SetOperator, Statement};
use crate::lexer::{Symbol, TokenKind};

impl Cursor<'_> {
    /// Whether a query, or a parenthesis around one, starts `ahead` places on.
    pub(super) fn is_query_at(&mut self, ahead: usize) -> bool {
        if self.is_word_at(ahead, "FROM") {
            return !self.is_symbol_at(ahead + 1, Symbol::Comma);
        }
        self.is_word_at(ahead, "SELECT") || self.starts_with_clause(ahead) || self.is_values_query_at(ahead)
    }

    fn starts_with_clause(&mut self, ahead: usize) -> bool {
        let names = !matches!(
            self.peek_at(ahead + 1).kind,
            TokenKind::Symbol(Symbol::Comma | Symbol::CloseParen | Symbol::Dot | Symbol::Equal)
        );
        self.is_word_at(ahead, "WITH") && names
    }

    pub(super) fn parse_query(&mut self) -> Parsed<Query> {
        self.nested(|cursor| {
            let body = cursor.parse_set_expr(0)?;
            cursor.parse_query_tail(body)
        })
    }

    /// A query that begins with WITH, or `WITH .. INSERT INTO t SELECT ..`: the names are then those of the SELECT.
    pub(super) fn parse_with_statement(&mut self) -> Parsed<Statement> {
        let mut select = Select::default();
        self.parse_with_clause(&mut select)?;
        if !self.is_word("INSERT") {
            let first = SetExpr::Select(Box::new(self.parse_select_after_with(select)?));
            let body = self.parse_set_operators(first, 0)?;
            return self.parse_query_tail(body).map(|query| Statement::Query(Box::new(query)));
        }
        let mut statement = self.parse_insert()?;
        if let Statement::Insert(insert) = &mut statement
            && let InsertSource::Query(query) = &mut insert.source
            && let Some(first) = first_select(&mut query.body)
        {
            first.with_recursive |= select.with_recursive;
            first.with.splice(0..0, select.with);
            return Ok(statement);
        }
        Err(self.refuse("WITH before an INSERT names values of its SELECT"))
    }

    /// The rest of a query whose first operand, in parentheses, is already parsed.
    pub(super) fn parse_query_from(&mut self, first: Query) -> Parsed<Query> {
        let body = self.parse_set_operators(SetExpr::Nested(Box::new(first)), 0)?;
        self.parse_query_tail(body)
    }

    fn parse_query_tail(&mut self, body: SetExpr) -> Parsed<Query> {
        if self.is_postgres() {
            self.eat_row_locks();
        }
        let into_outfile = if self.eat("INTO OUTFILE") { Some(self.parse_outfile()?) } else { None };
        let format = if self.eat("FORMAT") { Some(self.parse_ident()?) } else { None };
        let settings = if self.eat("SETTINGS") { self.parse_settings()? } else { Vec::new() };
        match body {
            // Parentheses around a whole query have no meaning.
            SetExpr::Nested(query) if into_outfile.is_none() && format.is_none() && settings.is_empty() => {
                Ok(*query)
            }
            body => Ok(Query { body, into_outfile, format, settings }),
        }
    }

    fn parse_outfile(&mut self) -> Parsed<IntoOutfile> {
        let path = self.parse_string()?;
        if self.is_one_of(&["TRUNCATE", "APPEND", "AND"]) {
            return Err(self.not_implemented("TRUNCATE, APPEND or AND STDOUT after INTO OUTFILE"));
        }
        let compression = if self.eat("COMPRESSION") { Some(self.parse_string()?) } else { None };
        let level = if compression.is_some() && self.eat("LEVEL") { Some(self.parse_u64()?) } else { None };
        Ok(IntoOutfile { path, compression, level })
    }

    /// Operands joined by set operators of at least this precedence; INTERSECT binds tighter.
    fn parse_set_expr(&mut self, least: u8) -> Parsed<SetExpr> {
        let first = self.parse_set_operand()?;
        self.parse_set_operators(first, least)
    }

    fn parse_set_operators(&mut self, mut left: SetExpr, least: u8) -> Parsed<SetExpr> {
        loop {
            let precedence = match () {
                () if self.is_word("INTERSECT") => 1,
                () if self.is_one_of(&["UNION", "EXCEPT"]) => 0,
                () => {
                    self.note("UNION");
                    return Ok(left);
                }
            };
            if precedence < least {
                return Ok(left);
            }
            let op = self.parse_set_operator()?;
            let right = Box::new(self.parse_set_expr(precedence + 1)?);
            self.wrap_list()?;
            left = SetExpr::Operation { op, left: Box::new(left), right };
        }
    }

    fn parse_set_operator(&mut self) -> Parsed<SetOperator> {
        Ok(match () {
            () if self.eat("UNION ALL") => SetOperator::UnionAll,
            () if self.eat("UNION DISTINCT") => SetOperator::UnionDistinct,
            () if self.eat("UNION") => SetOperator::Union,
            () if self.eat("INTERSECT DISTINCT") => SetOperator::IntersectDistinct,
            () if self.eat("INTERSECT ALL") || self.eat("INTERSECT") => SetOperator::IntersectAll,
            () if self.eat("EXCEPT DISTINCT") => SetOperator::ExceptDistinct,
            () if self.eat("EXCEPT ALL") || self.eat("EXCEPT") => SetOperator::ExceptAll,
            () => return Err(self.unexpected()),
        })
    }

    fn parse_set_operand(&mut self) -> Parsed<SetExpr> {
        if self.eat_symbol(Symbol::OpenParen) {
            let query = self.parse_query()?;
            self.expect_symbol(Symbol::CloseParen)?;
            return Ok(SetExpr::Nested(Box::new(query)));
        }
        if self.is_values_query_at(0) {
            return self.parse_values_query();
        }
        self.parse_select().map(|select| SetExpr::Select(Box::new(select)))
    }

    /// The list after WITH.
    pub(super) fn parse_ctes(&mut self) -> Parsed<Vec<Cte>> {
        self.parse_list(Cursor::parse_cte)
    }

    fn parse_cte(&mut self) -> Parsed<Cte> {
        if let Some(columns_end) = self.peek_cte_head() {
            let name = self.parse_ident()?;
            let columns =
                if columns_end > 1 { self.parse_parenthesized(Cursor::parse_ident)? } else { Vec::new() };
            self.expect("AS")?;
            self.expect_symbol(Symbol::OpenParen)?;
            let query = Box::new(self.parse_query()?);
            self.expect_symbol(Symbol::CloseParen)?;
            return Ok(Cte::Query { name, columns, query });
        }
        let value = self.parse_expr()?;
        self.expect("AS")?;
        Ok(Cte::Expr { name: self.parse_ident()?, value })
    }

    /// If `name AS (` or `name (a, b) AS (` comes: the number of tokens before AS.
    fn peek_cte_head(&mut self) -> Option<usize> {
        let is_name = |kind| matches!(kind, TokenKind::Word | TokenKind::QuotedName);
        if !is_name(self.peek_kind()) {
            return None;
        }
        let mut ahead = 1;
        if self.is_symbol_at(ahead, Symbol::OpenParen) {
            loop {
                if !is_name(self.peek_at(ahead + 1).kind) {
                    return None;
                }
                ahead += 2;
                if self.is_symbol_at(ahead, Symbol::CloseParen) {
                    ahead += 1;
                    break;
                }
                if !self.is_symbol_at(ahead, Symbol::Comma) {
                    return None;
                }
            }
        }
        (self.is_word_at(ahead, "AS") && self.is_symbol_at(ahead + 1, Symbol::OpenParen)).then_some(ahead)
    }
}

/// The SELECT that a query begins with.
fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Nested(query) => first_select(&mut query.body),
        SetExpr::Operation { left, .. } => first_select(left),
    }
}
