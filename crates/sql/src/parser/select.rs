//! One SELECT, clause by clause.

use super::cursor::{Cursor, Parsed};
use super::postgres::zip_sets;
use crate::ast::{Expr, GroupBy, LimitBy, Select, SelectItem};
use crate::error::Failure;
use crate::lexer::{Symbol, TokenKind};

impl Cursor<'_> {
    pub(super) fn parse_select(&mut self) -> Parsed<Select> {
        let mut select = Select::default();
        if self.is_word("WITH") {
            self.parse_with_clause(&mut select)?;
        }
        self.parse_select_after_with(select)
    }

    pub(super) fn parse_with_clause(&mut self, select: &mut Select) -> Parsed<()> {
        self.expect("WITH")?;
        select.with_recursive = self.eat("RECURSIVE");
        select.with = self.parse_ctes()?;
        Ok(())
    }

    /// The SELECT after its WITH clause, which is in `select`.
    pub(super) fn parse_select_after_with(&mut self, mut select: Select) -> Parsed<Select> {
        if self.eat("FROM") {
            // FROM may stand in front; SELECT may then be left out.
            select.from = Some(self.parse_table_expr()?);
            if self.eat("SELECT") {
                self.parse_select_list(&mut select)?;
            } else {
                let everything =
                    Expr::Asterisk { qualifier: Vec::new(), except: Vec::new(), replace: Vec::new() };
                select.items.push(SelectItem { expr: everything, alias: None });
            }
        } else {
            self.expect("SELECT")?;
            self.parse_select_list(&mut select)?;
            if self.eat("FROM") {
                select.from = Some(self.parse_table_expr()?);
            } else if self.starts_array_join() {
                return Err(self.not_implemented("ARRAY JOIN without FROM"));
            }
        }
        self.parse_filters(&mut select)?;
        self.parse_order_clause(&mut select)?;
        self.parse_limits(&mut select)?;
        if self.is_postgres() {
            self.bind_limits(&mut select);
        }
        if self.eat("SETTINGS") {
            select.settings = self.parse_settings()?;
        }
        Ok(select)
    }

    fn parse_select_list(&mut self, select: &mut Select) -> Parsed<()> {
        self.parse_distinct(select)?;
        if self.is_word("TOP") && self.peek_at(1).kind == TokenKind::Number {
            self.take();
            select.limit = Some(self.parse_operand()?);
            select.with_ties = self.eat("WITH TIES");
        }
        loop {
            let item = self.parse_result_item()?;
            select.items.push(item);
            // A comma after the last item is allowed.
            if !self.eat_symbol(Symbol::Comma) || self.is_word("FROM") {
                break;
            }
        }
        if self.is_postgres() {
            zip_sets(&mut select.items);
        }
        Ok(())
    }

    fn parse_distinct(&mut self, select: &mut Select) -> Parsed<()> {
        if self.eat("DISTINCT ON") {
            select.distinct_on = self.parse_parenthesized(Cursor::parse_aliased_expr)?;
        } else if self.eat("DISTINCT") {
            select.distinct = true;
        } else if self.is_word("ALL") && !self.is_symbol_at(1, Symbol::Comma) && !self.is_word_at(1, "FROM") {
            self.take();
        }
        Ok(())
    }

    pub(super) fn parse_select_item(&mut self) -> Parsed<SelectItem> {
        let expr = self.parse_expr()?;
        Ok(SelectItem { expr, alias: self.parse_alias()? })
    }

    /// An item of a SELECT list; without an alias, Postgres' rules give it a name.
    fn parse_result_item(&mut self) -> Parsed<SelectItem> {
        if !self.is_postgres() {
            return self.parse_select_item();
        }
        let start = self.item_start();
        let mut item = self.parse_select_item()?;
        self.name_item(&mut item, &start);
        Ok(item)
    }

    fn parse_filters(&mut self, select: &mut Select) -> Parsed<()> {
        if self.eat("PREWHERE") {
            select.prewhere = Some(self.parse_aliased_expr()?);
        }
        if self.eat("WHERE") {
            select.filter = Some(self.parse_aliased_expr()?);
        }
        if self.eat("GROUP BY") {
            select.group_by = Some(self.parse_group_by()?);
        }
        select.with_totals = self.eat("WITH TOTALS");
        if self.eat("HAVING") {
            select.having = Some(self.parse_aliased_expr()?);
        }
        if self.eat("WINDOW") {
            select.windows = self.parse_list(Cursor::parse_named_window)?;
        }
        if self.eat("QUALIFY") {
            select.qualify = Some(self.parse_aliased_expr()?);
        }
        Ok(())
    }

    fn parse_group_by(&mut self) -> Parsed<GroupBy> {
        if self.eat("ALL") {
            return Ok(GroupBy::All);
        }
        if self.eat("GROUPING SETS") {
            return self.parse_parenthesized(Cursor::parse_grouping_set).map(GroupBy::GroupingSets);
        }
        if self.is_symbol_at(1, Symbol::OpenParen) {
            if self.eat("ROLLUP") {
                return self.parse_parenthesized(Cursor::parse_aliased_expr).map(GroupBy::Rollup);
            }
            if self.eat("CUBE") {
                return self.parse_parenthesized(Cursor::parse_aliased_expr).map(GroupBy::Cube);
            }
        }
        let exprs = self.parse_list(Cursor::parse_aliased_expr)?;
        Ok(match () {
            () if self.eat("WITH ROLLUP") => GroupBy::Rollup(exprs),
            () if self.eat("WITH CUBE") => GroupBy::Cube(exprs),
            () => GroupBy::Exprs(exprs),
        })
    }

    /// `(a, b)` or a single expression.
    fn parse_grouping_set(&mut self) -> Parsed<Vec<Expr>> {
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_parenthesized(Cursor::parse_aliased_expr);
        }
        Ok(vec![self.parse_aliased_expr()?])
    }

    /// LIMIT BY, LIMIT, OFFSET and FETCH.
    fn parse_limits(&mut self, select: &mut Select) -> Parsed<()> {
        if self.eat("LIMIT") {
            let (limit, offset) = self.parse_limit()?;
            if self.eat("BY") {
                let exprs = self.parse_list(Cursor::parse_aliased_expr)?;
                select.limit_by = Some(LimitBy { limit, offset, exprs });
                if self.eat("LIMIT") {
                    let (limit, offset) = self.parse_limit()?;
                    self.set_limit(select, limit, offset)?;
                }
            } else {
                self.set_limit(select, limit, offset)?;
            }
        }
        if select.offset.is_none() && self.eat("OFFSET") {
            select.offset = Some(self.parse_expr()?);
            let _noise = self.eat("ROWS") || self.eat("ROW");
        }
        self.parse_fetch(select)
    }

    /// `n`, `offset, n` or `n OFFSET offset`: the limit and the offset.
    fn parse_limit(&mut self) -> Parsed<(Expr, Option<Expr>)> {
        let first = self.parse_expr()?;
        if self.eat_symbol(Symbol::Comma) {
            return Ok((self.parse_expr()?, Some(first)));
        }
        let offset = if self.eat("OFFSET") { Some(self.parse_expr()?) } else { None };
        Ok((first, offset))
    }

    fn set_limit(
        &mut self,
        select: &mut Select,
        limit: Expr,
        offset: Option<Expr>,
    ) -> Result<(), Box<Failure>> {
        if select.limit.is_some() {
            return Err(self.refuse("TOP and LIMIT exclude each other"));
        }
        select.limit = Some(limit);
        select.offset = offset;
        select.with_ties = self.eat("WITH TIES");
        Ok(())
    }

    /// `FETCH FIRST n ROWS ONLY`.
    fn parse_fetch(&mut self, select: &mut Select) -> Parsed<()> {
        if !self.eat("FETCH") {
            return Ok(());
        }
        if select.limit.is_some() {
            return Err(self.refuse("LIMIT and FETCH exclude each other"));
        }
        if !self.eat("FIRST") {
            self.expect("NEXT")?;
        }
        let one_row = self.is_one_of(&["ROW", "ROWS"]);
        let one = Expr::Literal(crate::ast::Literal::UInt(1));
        select.limit = Some(if one_row { one } else { self.parse_expr()? });
        if !self.eat("ROWS") {
            self.expect("ROW")?;
        }
        select.with_ties = self.eat("WITH TIES");
        if !select.with_ties {
            self.expect("ONLY")?;
        }
        Ok(())
    }
}
