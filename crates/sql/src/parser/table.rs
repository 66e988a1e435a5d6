//! CREATE TABLE.

use super::create::CreateWords;
use super::cursor::{Cursor, Parsed};
use super::postgres::require_keys;
use crate::ast::{CreateTable, Expr, ObjectName, OrderBy, Statement, TableElement, TableSource};
use crate::lexer::Symbol;

impl Cursor<'_> {
    /// Starts after the word TABLE.
    pub(super) fn parse_create_table(&mut self, words: CreateWords) -> Parsed<Statement> {
        let if_not_exists = self.eat_if_not_exists();
        let name = self.parse_object_name()?;
        let mut table = empty_table(name, words, if_not_exists);
        if self.eat("UUID") {
            return Err(self.not_implemented("UUID of a table"));
        }
        self.refuse_cluster()?;
        if self.is_symbol(Symbol::OpenParen) {
            self.parse_elements(&mut table)?;
        }
        while self.parse_table_clause(&mut table)? {}
        if self.is_postgres() {
            require_keys(&mut table);
        }
        Ok(Statement::CreateTable(Box::new(table)))
    }

    /// The column list, PRIMARY KEY entries included.
    fn parse_elements(&mut self, table: &mut CreateTable) -> Parsed<()> {
        self.expect_symbol(Symbol::OpenParen)?;
        while !self.eat_symbol(Symbol::CloseParen) {
            if self.eat("PRIMARY KEY") {
                let key = self.parse_key()?;
                self.set_primary_key(table, key)?;
            } else {
                let (element, is_key) = self.parse_element_of_table()?;
                if let (true, TableElement::Column(column)) = (is_key, &element) {
                    let part = Expr::Identifier(vec![column.name.clone()]);
                    table.primary_key.get_or_insert_default().push(part);
                }
                table.elements.push(element);
            }
            if !self.eat_symbol(Symbol::Comma) {
                self.expect_symbol(Symbol::CloseParen)?;
                break;
            }
        }
        Ok(())
    }

    fn set_primary_key(&mut self, table: &mut CreateTable, key: Vec<Expr>) -> Parsed<()> {
        if table.primary_key.is_some() {
            return Err(self.refuse("the table has two primary keys"));
        }
        table.primary_key = Some(key);
        Ok(())
    }

    /// One clause after the column list; they come in any order. `false` after the last.
    fn parse_table_clause(&mut self, table: &mut CreateTable) -> Parsed<bool> {
        match () {
            () if self.is_word("ENGINE") => table.engine = Some(self.parse_engine()?),
            () if self.eat("PARTITION BY") => table.partition_by = Some(self.parse_expr()?),
            () if self.eat("PRIMARY KEY") => {
                let key = self.parse_key()?;
                self.set_primary_key(table, key)?;
            }
            () if self.eat("ORDER BY") => table.order_by = Some(self.parse_sorting_key()?),
            () if self.eat("SAMPLE BY") => table.sample_by = Some(self.parse_expr()?),
            () if self.eat("TTL") => table.ttl = self.parse_list(Cursor::parse_ttl)?,
            () if self.eat("SETTINGS") => table.settings = self.parse_settings()?,
            () if self.eat("COMMENT") => table.comment = Some(self.parse_string()?),
            () if self.eat("EMPTY AS") => {
                table.source = Some(TableSource::EmptyQuery(Box::new(self.parse_query()?)));
            }
            () if self.is_phrase("CLONE AS") => return Err(self.not_implemented("CREATE TABLE .. CLONE AS")),
            () if self.eat("AS") => table.source = Some(self.parse_table_source()?),
            () => return Ok(false),
        }
        Ok(true)
    }

    fn parse_table_source(&mut self) -> Parsed<TableSource> {
        if self.is_query_at(0) || self.is_symbol(Symbol::OpenParen) {
            return self.parse_query().map(|query| TableSource::Query(Box::new(query)));
        }
        if self.is_symbol_at(1, Symbol::OpenParen) {
            return self.parse_call().map(|call| TableSource::Function(Expr::Function(call)));
        }
        self.parse_object_name().map(TableSource::Like)
    }

    /// A key: `a`, `(a, b)`, `tuple()`.
    pub(super) fn parse_key(&mut self) -> Parsed<Vec<Expr>> {
        self.parse_expr().map(spread)
    }

    /// A sorting key: a key whose parts may say DESC. `(tuple())` is `tuple()`.
    pub(super) fn parse_sorting_key(&mut self) -> Parsed<Vec<OrderBy>> {
        let mark = self.mark();
        if self.is_symbol(Symbol::OpenParen)
            && let Ok(parts) = self.parse_parenthesized(Cursor::parse_order_item)
            && !self.continues_expr()
        {
            return Ok(spread_single(parts));
        }
        self.rewind(mark);
        // Without an alias: `AS SELECT` may follow.
        let expr = self.parse_expr()?;
        let first = self.parse_direction(expr)?;
        Ok(spread_single(vec![first]))
    }

    /// Whether an operator follows, so that the parentheses before were only the start of an expression.
    fn continues_expr(&mut self) -> bool {
        use crate::lexer::TokenKind;
        let next = self.peek_kind();
        let ends = matches!(next, TokenKind::Symbol(Symbol::Semicolon | Symbol::Comma | Symbol::CloseParen));
        matches!(next, TokenKind::Symbol(_)) && !ends
    }
}

fn empty_table(name: ObjectName, words: CreateWords, if_not_exists: bool) -> CreateTable {
    CreateTable {
        name,
        or_replace: words.or_replace,
        if_not_exists,
        temporary: words.temporary,
        elements: Vec::new(),
        engine: None,
        partition_by: None,
        primary_key: None,
        order_by: None,
        sample_by: None,
        ttl: Vec::new(),
        settings: Vec::new(),
        source: None,
        comment: None,
    }
}

/// The parts of a key: those of a tuple, none of `tuple()`, or the expression itself.
fn spread(key: Expr) -> Vec<Expr> {
    match key {
        Expr::Tuple(parts) => parts,
        Expr::Function(call) if call.name == "tuple" => call.args,
        other => vec![other],
    }
}

/// The parts of a sorting key; a single part without DESC may be a tuple of all of them.
fn spread_single(parts: Vec<OrderBy>) -> Vec<OrderBy> {
    match <[OrderBy; 1]>::try_from(parts) {
        Ok([part]) if part == ascending(part.expr.clone()) => {
            spread(part.expr).into_iter().map(ascending).collect()
        }
        Ok([part]) => vec![part],
        Err(parts) => parts,
    }
}

fn ascending(expr: Expr) -> OrderBy {
    OrderBy { expr, descending: false, nulls_first: None, collate: None, fill: None }
}
