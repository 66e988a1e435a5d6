//! Calls: the plain form, and the forms of the SQL standard that mean a call.

use basalt_base::types::IntervalUnit;

use super::cursor::{Cursor, Parsed};
use super::postgres::substring;
use crate::ast::{BinaryOp, Expr, FunctionCall, Literal};
use crate::lexer::{Symbol, TokenKind};

impl Cursor<'_> {
    /// `name(parameters)(args) FILTER (..) OVER ..`.
    pub(super) fn parse_call(&mut self) -> Parsed<FunctionCall> {
        let name = self.parse_ident()?;
        let (mut distinct, mut args) = self.parse_args()?;
        let mut parameters = Vec::new();
        if self.is_symbol(Symbol::OpenParen) {
            if distinct {
                return Err(self.refuse("DISTINCT belongs to the arguments, not to the parameters"));
            }
            parameters = args;
            (distinct, args) = self.parse_args()?;
        }
        if self.is_phrase("IGNORE NULLS") || self.is_phrase("RESPECT NULLS") {
            return Err(self.not_implemented("IGNORE NULLS and RESPECT NULLS"));
        }
        let order = self.take_order();
        let filter = self.parse_filter()?;
        let over = if self.eat("OVER") { Some(self.parse_over()?) } else { None };
        self.keep_order(order);
        Ok(FunctionCall { name, parameters, distinct, args, filter, over })
    }

    /// The call of a table function, without parameters and clauses: what follows it belongs to the statement.
    pub(super) fn parse_table_call(&mut self) -> Parsed<FunctionCall> {
        let name = self.parse_ident()?;
        let (distinct, args) = self.parse_args()?;
        Ok(FunctionCall { name, parameters: Vec::new(), distinct, args, filter: None, over: None })
    }

    fn parse_filter(&mut self) -> Parsed<Option<Box<Expr>>> {
        if !(self.is_word("FILTER") && self.is_symbol_at(1, Symbol::OpenParen)) {
            return Ok(None);
        }
        self.take();
        self.take();
        self.expect("WHERE")?;
        let condition = self.parse_expr()?;
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(Some(Box::new(condition)))
    }

    /// `(DISTINCT a, b)`: whether DISTINCT stands there, and the arguments.
    fn parse_args(&mut self) -> Parsed<(bool, Vec<Expr>)> {
        self.expect_symbol(Symbol::OpenParen)?;
        let distinct = self.is_quantifier("DISTINCT");
        if distinct || self.is_quantifier("ALL") {
            self.take();
        }
        let args = self.parse_rest_of_args(Vec::new())?;
        Ok((distinct, args))
    }

    /// Whether the next word is the quantifier `word`, not a name: an argument follows it.
    fn is_quantifier(&mut self, word: &str) -> bool {
        let ends = matches!(
            self.peek_at(1).kind,
            TokenKind::Symbol(
                Symbol::Comma | Symbol::CloseParen | Symbol::Dot | Symbol::Arrow | Symbol::Equal
            )
        );
        self.is_word(word) && !ends
    }

    /// Arguments up to the closing parenthesis, appended to `args`.
    fn parse_rest_of_args(&mut self, mut args: Vec<Expr>) -> Parsed<Vec<Expr>> {
        while !self.eat_symbol(Symbol::CloseParen) {
            args.push(self.parse_arg()?);
            if !self.eat_symbol(Symbol::Comma) {
                self.parse_order_of_args()?;
                self.expect_symbol(Symbol::CloseParen)?;
                break;
            }
        }
        Ok(args)
    }

    fn parse_arg(&mut self) -> Parsed<Expr> {
        // `view(SELECT 1)` needs no second pair of parentheses.
        if self.is_word("SELECT") {
            return Ok(Expr::Subquery(Box::new(self.parse_query()?)));
        }
        if self.is_word("SETTINGS") && self.is_symbol_at(2, Symbol::Equal) {
            return Err(self.not_implemented("SETTINGS among the arguments of a function"));
        }
        self.parse_aliased_expr()
    }

    /// `CAST(x AS T)`, `EXTRACT(unit FROM x)` and their like; `None` where the call is a plain one.
    /// The next tokens are a word and `(`.
    pub(super) fn try_special_call(&mut self) -> Parsed<Option<Expr>> {
        let token = self.peek();
        let word = String::from_utf8_lossy(self.text(token)).to_ascii_uppercase();
        match word.as_str() {
            "CAST" => self.parse_cast().map(Some),
            "COLUMNS" => self.parse_columns().map(Some),
            "EXTRACT" if self.is_postgres() => self.try_postgres_extract(),
            "EXTRACT" => self.try_extract(),
            "SUBSTRING" | "SUBSTR" => self.parse_substring().map(Some),
            "TRIM" => self.try_trim(),
            "POSITION" => self.parse_position().map(Some),
            "DATE_ADD" | "DATEADD" | "TIMESTAMP_ADD" | "TIMESTAMPADD" => {
                self.parse_date_shift(BinaryOp::Plus).map(Some)
            }
            "DATE_SUB" | "DATESUB" | "TIMESTAMP_SUB" | "TIMESTAMPSUB" => {
                self.parse_date_shift(BinaryOp::Minus).map(Some)
            }
            "DATE_DIFF" | "DATEDIFF" | "TIMESTAMP_DIFF" | "TIMESTAMPDIFF" => self.try_date_difference(),
            _ => Ok(None),
        }
    }

    fn parse_cast(&mut self) -> Parsed<Expr> {
        let name = self.parse_ident()?;
        self.expect_symbol(Symbol::OpenParen)?;
        let operand = self.parse_expr()?;
        if self.eat("AS") {
            if self.is_postgres() {
                let cast = self.parse_postgres_cast(operand)?;
                self.expect_symbol(Symbol::CloseParen)?;
                return Ok(cast);
            }
            let ty = self.parse_type()?;
            self.expect_symbol(Symbol::CloseParen)?;
            return Ok(Expr::Cast { operand: Box::new(operand), ty });
        }
        self.expect_symbol(Symbol::Comma)?;
        let args = self.parse_rest_of_args(vec![operand])?;
        Ok(call(name, args))
    }

    fn parse_columns(&mut self) -> Parsed<Expr> {
        self.take();
        self.take();
        if self.peek_kind() != TokenKind::String {
            return Err(self.not_implemented("COLUMNS with a list of names"));
        }
        let pattern = self.parse_string()?;
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(Expr::ColumnsMatching(pattern))
    }

    fn try_extract(&mut self) -> Parsed<Option<Expr>> {
        let (Some(unit), true) = (self.unit_at(2), self.is_word_at(3, "FROM")) else {
            return Ok(None);
        };
        for _ in 0..4 {
            self.take();
        }
        let value = self.parse_expr()?;
        self.expect_symbol(Symbol::CloseParen)?;
        let function = match unit {
            IntervalUnit::Second => "toSecond",
            IntervalUnit::Minute => "toMinute",
            IntervalUnit::Hour => "toHour",
            IntervalUnit::Day => "toDayOfMonth",
            IntervalUnit::Week => "toWeek",
            IntervalUnit::Month => "toMonth",
            IntervalUnit::Quarter => "toQuarter",
            IntervalUnit::Year => "toYear",
        };
        Ok(Some(call(function, vec![value])))
    }

    /// `SUBSTRING(x FROM a [FOR b])`, or the plain call.
    fn parse_substring(&mut self) -> Parsed<Expr> {
        let name = self.parse_ident()?;
        self.expect_symbol(Symbol::OpenParen)?;
        if self.eat_symbol(Symbol::CloseParen) {
            return Ok(call(name, Vec::new()));
        }
        let mut args = vec![self.parse_arg()?];
        if self.eat("FROM") {
            args.push(self.parse_expr()?);
            if self.eat("FOR") {
                args.push(self.parse_expr()?);
            }
            self.expect_symbol(Symbol::CloseParen)?;
            return Ok(if self.is_postgres() { substring(args) } else { call("substring", args) });
        }
        match self.finish_call(name, args)? {
            Expr::Function(plain) if self.is_postgres() => Ok(substring(plain.args)),
            plain => Ok(plain),
        }
    }

    /// The rest of a plain call whose first argument was parsed apart.
    fn finish_call(&mut self, name: String, args: Vec<Expr>) -> Parsed<Expr> {
        if !self.eat_symbol(Symbol::Comma) {
            self.expect_symbol(Symbol::CloseParen)?;
            return Ok(call(name, args));
        }
        let args = self.parse_rest_of_args(args)?;
        Ok(call(name, args))
    }

    /// `TRIM([BOTH|LEADING|TRAILING] [chars] FROM x)`.
    fn try_trim(&mut self) -> Parsed<Option<Expr>> {
        let function = match () {
            () if self.is_word_at(2, "BOTH") => "trimBoth",
            () if self.is_word_at(2, "LEADING") => "trimLeft",
            () if self.is_word_at(2, "TRAILING") => "trimRight",
            () => return Ok(None),
        };
        for _ in 0..3 {
            self.take();
        }
        let characters = if self.is_word("FROM") { None } else { Some(self.parse_expr()?) };
        self.expect("FROM")?;
        let mut args = vec![self.parse_expr()?];
        args.extend(characters);
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(Some(call(function, args)))
    }

    /// `POSITION(needle IN haystack)`, or the plain call.
    fn parse_position(&mut self) -> Parsed<Expr> {
        let name = self.parse_ident()?;
        self.expect_symbol(Symbol::OpenParen)?;
        if self.eat_symbol(Symbol::CloseParen) {
            return Ok(call(name, Vec::new()));
        }
        let first = self.parse_arg()?;
        match first {
            Expr::In { operand, right, negated: false, global: false }
                if self.is_symbol(Symbol::CloseParen) =>
            {
                self.take();
                Ok(call("position", vec![*right, *operand]))
            }
            first => self.finish_call(name, vec![first]),
        }
    }

    /// `DATE_ADD(unit, n, x)` and `DATE_ADD(x, INTERVAL ..)`: a sum or a difference.
    fn parse_date_shift(&mut self, op: BinaryOp) -> Parsed<Expr> {
        self.take();
        self.take();
        // `d` may be a unit and a column; before an interval it is a column.
        let leads = self.is_symbol_at(1, Symbol::Comma) && !self.is_word_at(2, "INTERVAL");
        let unit = if leads { self.unit_at(0) } else { None };
        let (left, right) = if let Some(unit) = unit {
            self.take();
            self.take();
            let value = Box::new(self.parse_expr()?);
            self.expect_symbol(Symbol::Comma)?;
            (self.parse_expr()?, Expr::Interval { value, unit })
        } else {
            let first = self.parse_expr()?;
            self.expect_symbol(Symbol::Comma)?;
            let second = self.parse_expr()?;
            // The interval may come first.
            if matches!(first, Expr::Interval { .. }) { (second, first) } else { (first, second) }
        };
        self.expect_symbol(Symbol::CloseParen)?;
        self.wrap()?;
        Ok(Expr::Binary { op, left: Box::new(left), right: Box::new(right) })
    }

    /// `DATE_DIFF(unit, a, b)` with a bare unit; the unit of a plain call is a string.
    fn try_date_difference(&mut self) -> Parsed<Option<Expr>> {
        let (Some(unit), true) = (self.unit_at(2), self.is_symbol_at(3, Symbol::Comma)) else {
            return Ok(None);
        };
        for _ in 0..4 {
            self.take();
        }
        let unit = unit.to_string().to_ascii_lowercase().into_bytes();
        let args = self.parse_rest_of_args(vec![Expr::Literal(Literal::String(unit))])?;
        Ok(Some(call("dateDiff", args)))
    }

    /// `DATE '2024-01-01'`: the call that it stands for.
    pub(super) fn parse_typed_string(&mut self, function: &str) -> Parsed<Expr> {
        self.take();
        let text = self.parse_literal()?;
        Ok(call(function, vec![Expr::Literal(text)]))
    }
}

fn call(name: impl Into<String>, args: Vec<Expr>) -> Expr {
    Expr::Function(FunctionCall {
        name: name.into(),
        parameters: Vec::new(),
        distinct: false,
        args,
        filter: None,
        over: None,
    })
}
