//! Operands: names, constants, brackets, CASE, subqueries, and their postfix operators.

use super::cursor::{Cursor, Parsed};
use super::keyword::never_operand;
use crate::ast::{Expr, Ident, Literal, TypeName, UnaryOp};
use crate::lexer::{Symbol, TokenKind};

impl Cursor<'_> {
    /// A primary expression with its `[..]`, `.name`, `.1` and `::Type`.
    pub(super) fn parse_operand(&mut self) -> Parsed<Expr> {
        let value = self.parse_primary()?;
        self.parse_postfix(value)
    }

    pub(super) fn parse_postfix(&mut self, mut value: Expr) -> Parsed<Expr> {
        loop {
            let TokenKind::Symbol(symbol) = self.peek_kind() else {
                if self.is_postgres() && self.eat_collation()? {
                    continue;
                }
                return Ok(value);
            };
            value = match symbol {
                Symbol::OpenBracket => {
                    self.take();
                    let index = Box::new(self.parse_aliased_expr()?);
                    self.expect_symbol(Symbol::CloseBracket)?;
                    Expr::ArrayElement { array: Box::new(value), index }
                }
                Symbol::Dot => {
                    self.take();
                    self.parse_element(value)?
                }
                Symbol::DoubleColon if self.is_postgres() => {
                    self.take();
                    self.parse_postgres_cast(value)?
                }
                Symbol::DoubleColon => {
                    self.take();
                    let ty = self.parse_type()?;
                    Expr::Cast { operand: Box::new(digits_of_wide(value, &ty)), ty }
                }
                _ => return Ok(value),
            };
            self.wrap()?;
        }
    }

    /// The element after the point that follows `value`.
    fn parse_element(&mut self, value: Expr) -> Parsed<Expr> {
        let value = Box::new(value);
        if self.peek_kind() == TokenKind::Number {
            let index = self.parse_u64()?;
            return Ok(Expr::TupleElement { tuple: value, index });
        }
        Ok(Expr::Field { value, name: self.parse_ident()? })
    }

    pub(super) fn parse_primary(&mut self) -> Parsed<Expr> {
        if self.is_postgres()
            && let Some(operand) = self.try_postgres_operand()?
        {
            return Ok(operand);
        }
        if let Some(special) = self.try_special_word()? {
            return Ok(special);
        }
        match self.peek_kind() {
            TokenKind::Word | TokenKind::QuotedName => self.parse_name_expr(),
            TokenKind::Number | TokenKind::String | TokenKind::Heredoc => {
                self.parse_literal().map(Expr::Literal)
            }
            TokenKind::Symbol(Symbol::OpenParen) => self.parse_paren(),
            TokenKind::Symbol(Symbol::OpenBracket) => self.parse_array(),
            TokenKind::Symbol(Symbol::OpenBrace) => self.parse_brace(),
            TokenKind::Symbol(Symbol::Asterisk) => {
                self.take();
                self.parse_asterisk(Vec::new())
            }
            _ => Err(self.expected_expression()),
        }
    }

    fn expected_expression(&mut self) -> Box<crate::error::Failure> {
        self.note("expression");
        self.unexpected()
    }

    /// Operands that a keyword starts. `None` where the next word is a plain name.
    fn try_special_word(&mut self) -> Parsed<Option<Expr>> {
        let token = self.peek();
        if token.kind != TokenKind::Word {
            return Ok(None);
        }
        let called = self.is_symbol_at(1, Symbol::OpenParen);
        let word = self.text(token);
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        // `and(a, b)` and `like(a, b)` are calls where an operand stands.
        let is_operator_call = called && ["AND", "OR", "IN", "LIKE", "ILIKE"].into_iter().any(is);
        if (never_operand(word) && !is_operator_call)
            || ((is("GROUP") || is("ORDER")) && self.is_word_at(1, "BY"))
        {
            return Err(self.expected_expression());
        }
        match () {
            () if is("CASE") => self.parse_case().map(Some),
            () if is("INTERVAL") => self.try_interval(),
            () if is("EXISTS") && called && self.is_enclosed_query_at(2) => {
                self.take();
                self.take();
                let query = self.parse_query()?;
                self.expect_symbol(Symbol::CloseParen)?;
                Ok(Some(Expr::Exists(Box::new(query))))
            }
            () if is_operator_call => Ok(None),
            () if called => self.try_special_call(),
            () if is("DATE") && self.peek_at(1).kind == TokenKind::String => {
                self.parse_typed_string("toDate").map(Some)
            }
            () if is("TIMESTAMP") && self.peek_at(1).kind == TokenKind::String => {
                self.parse_typed_string("toDateTime").map(Some)
            }
            () if self.is_symbol_at(1, Symbol::Dot) => Ok(None),
            () => Ok(self.try_unsigned_literal()?.map(Expr::Literal)),
        }
    }

    /// A name, a call, or a qualified asterisk.
    fn parse_name_expr(&mut self) -> Parsed<Expr> {
        if self.is_symbol_at(1, Symbol::OpenParen) {
            let call = self.parse_call()?;
            return Ok(self.meaning_of_call(call));
        }
        let mut parts = vec![self.parse_ident()?];
        while self.is_symbol(Symbol::Dot) {
            match self.peek_at(1).kind {
                TokenKind::Word | TokenKind::QuotedName => {
                    self.take();
                    parts.push(self.parse_ident()?);
                }
                TokenKind::Symbol(Symbol::Asterisk) => {
                    self.take();
                    self.take();
                    return self.parse_asterisk(parts);
                }
                _ => break,
            }
        }
        Ok(Expr::Identifier(parts))
    }

    /// The EXCEPT and REPLACE after an asterisk.
    fn parse_asterisk(&mut self, qualifier: Vec<Ident>) -> Parsed<Expr> {
        let mut except = Vec::new();
        let mut replace = Vec::new();
        loop {
            if self.is_word("EXCEPT") && !self.is_set_operand_at(1) {
                self.take();
                except.extend(self.parse_except()?);
            } else if self.is_word("REPLACE") && replacement_follows(self) {
                self.take();
                replace.extend(self.parse_replace()?);
            } else if self.is_word("APPLY") {
                return Err(self.not_implemented("APPLY after an asterisk"));
            } else {
                return Ok(Expr::Asterisk { qualifier, except, replace });
            }
        }
    }

    /// Whether an operand of a set operator starts `ahead` tokens from here: a query, or one in parentheses.
    fn is_set_operand_at(&mut self, ahead: usize) -> bool {
        let mut at = ahead;
        while self.is_symbol_at(at, Symbol::OpenParen) {
            at += 1;
        }
        self.is_one_of_at(at, &["SELECT", "WITH", "ALL", "DISTINCT", "FROM"])
    }

    /// Whether a query starts `ahead` tokens from here, after any number of open parentheses.
    fn is_enclosed_query_at(&mut self, ahead: usize) -> bool {
        let mut at = ahead;
        while self.is_symbol_at(at, Symbol::OpenParen) {
            at += 1;
        }
        self.is_query_at(at)
    }

    fn parse_except(&mut self) -> Parsed<Vec<Ident>> {
        if self.peek_kind() == TokenKind::String {
            return Err(self.not_implemented("EXCEPT by a pattern"));
        }
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_parenthesized(Cursor::parse_column_name);
        }
        Ok(vec![self.parse_column_name()?])
    }

    fn parse_replace(&mut self) -> Parsed<Vec<(Expr, Ident)>> {
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_parenthesized(Cursor::parse_replacement);
        }
        Ok(vec![self.parse_replacement()?])
    }

    fn parse_replacement(&mut self) -> Parsed<(Expr, Ident)> {
        let value = self.parse_expr()?;
        self.expect("AS")?;
        Ok((value, self.parse_ident()?))
    }

    /// `(..)`: a subquery, a tuple, or an expression in parentheses, which are dropped.
    fn parse_paren(&mut self) -> Parsed<Expr> {
        self.take();
        if self.eat_symbol(Symbol::CloseParen) {
            return Ok(Expr::Tuple(Vec::new()));
        }
        if self.is_query_at(0) {
            let query = self.parse_query()?;
            self.expect_symbol(Symbol::CloseParen)?;
            return Ok(Expr::Subquery(Box::new(query)));
        }
        let first = self.parse_aliased_expr()?;
        let first = match first {
            // `((SELECT 1) UNION ALL SELECT 2)`: the parenthesis was the start of a longer query.
            Expr::Subquery(query) if self.is_one_of(&["UNION", "INTERSECT", "EXCEPT"]) => {
                Expr::Subquery(Box::new(self.parse_query_from(*query)?))
            }
            other => other,
        };
        if self.eat_symbol(Symbol::CloseParen) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat_symbol(Symbol::Comma) && !self.is_symbol(Symbol::CloseParen) {
            items.push(self.parse_aliased_expr()?);
        }
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(Expr::Tuple(items))
    }

    fn parse_array(&mut self) -> Parsed<Expr> {
        self.take();
        let mut items = Vec::new();
        while !self.eat_symbol(Symbol::CloseBracket) {
            items.push(self.parse_aliased_expr()?);
            if !self.eat_symbol(Symbol::Comma) {
                self.expect_symbol(Symbol::CloseBracket)?;
                break;
            }
        }
        Ok(Expr::Array(items))
    }

    /// `{name:Type}` or `{'key': value}`.
    fn parse_brace(&mut self) -> Parsed<Expr> {
        self.take();
        let named = matches!(self.peek_kind(), TokenKind::Word | TokenKind::QuotedName);
        if named && self.is_symbol_at(1, Symbol::Colon) {
            let name = self.parse_ident()?;
            self.take();
            let ty = self.parse_type()?;
            self.expect_symbol(Symbol::CloseBrace)?;
            return Ok(Expr::Parameter { name, ty });
        }
        let mut entries = Vec::new();
        while !self.eat_symbol(Symbol::CloseBrace) {
            let key = self.parse_expr()?;
            self.expect_symbol(Symbol::Colon)?;
            entries.push((key, self.parse_expr()?));
            if !self.eat_symbol(Symbol::Comma) {
                self.expect_symbol(Symbol::CloseBrace)?;
                break;
            }
        }
        Ok(Expr::Map(entries))
    }

    fn parse_case(&mut self) -> Parsed<Expr> {
        self.take();
        let operand = if self.is_word("WHEN") { None } else { Some(Box::new(self.parse_expr()?)) };
        let mut branches = Vec::new();
        while self.eat("WHEN") {
            let condition = self.parse_expr()?;
            self.expect("THEN")?;
            branches.push((condition, self.parse_expr()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat("ELSE") { Some(Box::new(self.parse_expr()?)) } else { None };
        self.expect("END")?;
        Ok(Expr::Case { operand, branches, otherwise })
    }
}

/// `* REPLACE (..)` and `* REPLACE x + 1 AS x`, but not an alias or a column of that name.
fn replacement_follows(cursor: &mut Cursor<'_>) -> bool {
    cursor.is_symbol_at(1, Symbol::OpenParen)
        || matches!(cursor.peek_at(1).kind, TokenKind::Word | TokenKind::QuotedName | TokenKind::Number)
}

/// As in ClickHouse, a number in front of `::` is text, so that the digits of an integer beyond 64 bits stay.
fn digits_of_wide(value: Expr, ty: &TypeName) -> Expr {
    let is_wide =
        matches!(ty.name.as_str(), "Int128" | "UInt128" | "Int256" | "UInt256") && ty.args.is_empty();
    let (sign, literal) = match &value {
        Expr::Literal(literal) => ("", literal),
        Expr::Unary { op: UnaryOp::Minus, operand } => match operand.as_ref() {
            Expr::Literal(literal) => ("-", literal),
            _ => return value,
        },
        _ => return value,
    };
    match literal {
        Literal::Number(digits) if is_wide => {
            Expr::Literal(Literal::String(format!("{sign}{digits}").into_bytes()))
        }
        _ => value,
    }
}
