//! Operators: precedence climbing over the operands of `operand.rs`.
//!
//! From loose to tight: `->`, `? :`, OR, AND, NOT, BETWEEN, IS NULL, comparisons with LIKE and IN,
//! `||`, `+ -`, `* / %`, unary minus, then `[]`, `.`, `::`. These are ClickHouse's priorities.

use super::cursor::{Cursor, Parsed};
use super::postgres::PostgresOperator;
use crate::ast::{BinaryOp, Expr, Ident, Lambda, UnaryOp};
use crate::lexer::{Symbol, TokenKind};

/// How tightly an operator binds; the printer sets parentheses by the same numbers.
pub(crate) mod power {
    use crate::ast::BinaryOp;

    pub(crate) const LAMBDA: u8 = 1;
    pub(crate) const TERNARY: u8 = 2;
    pub(crate) const OR: u8 = 3;
    pub(crate) const AND: u8 = 4;
    pub(crate) const NOT: u8 = 5;
    pub(crate) const BETWEEN: u8 = 6;
    pub(crate) const IS_NULL: u8 = 8;
    pub(crate) const COMPARE: u8 = 9;
    pub(crate) const CONCAT: u8 = 10;
    pub(crate) const SUM: u8 = 11;
    pub(crate) const PRODUCT: u8 = 12;
    pub(crate) const MINUS: u8 = 13;
    /// Names, brackets and calls need no parentheses anywhere.
    pub(crate) const POSTFIX: u8 = 14;

    /// The power of a binary operator; all of them associate to the left.
    pub(crate) fn of_binary(op: BinaryOp) -> u8 {
        match op {
            BinaryOp::Or => OR,
            BinaryOp::And => AND,
            BinaryOp::Concat => CONCAT,
            BinaryOp::Plus | BinaryOp::Minus => SUM,
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo | BinaryOp::IntDiv => PRODUCT,
            _ => COMPARE,
        }
    }
}

/// An operator between two operands, or after one.
enum Infix {
    Binary(BinaryOp),
    Between {
        negated: bool,
    },
    In {
        negated: bool,
        global: bool,
    },
    IsNull {
        negated: bool,
    },
    Ternary,
    Lambda,
    /// An operator of the Postgres dialect.
    Postgres(PostgresOperator),
}

impl Infix {
    fn power(&self) -> u8 {
        match self {
            Infix::Lambda => power::LAMBDA,
            Infix::Ternary => power::TERNARY,
            Infix::Between { .. } => power::BETWEEN,
            Infix::IsNull { .. } => power::IS_NULL,
            Infix::In { .. } => power::COMPARE,
            Infix::Binary(op) => power::of_binary(*op),
            Infix::Postgres(op) => op.power(),
        }
    }
}

impl Cursor<'_> {
    /// A whole expression, without an alias.
    pub(super) fn parse_expr(&mut self) -> Parsed<Expr> {
        self.parse_power(0)
    }

    /// An expression of operators that bind at least as tightly as `least`.
    pub(super) fn parse_power(&mut self, least: u8) -> Parsed<Expr> {
        self.nested(|cursor| {
            let mut left = cursor.parse_prefix()?;
            while let Some((infix, token_count)) = cursor.peek_infix() {
                if infix.power() < least {
                    break;
                }
                cursor.skip(token_count);
                match infix {
                    Infix::Binary(_) => cursor.wrap_list()?,
                    _ => cursor.wrap()?,
                }
                left = cursor.parse_infix(left, infix)?;
            }
            Ok(left)
        })
    }

    /// Whether the value of a partition follows, rather than a table called `partition`.
    pub(super) fn is_in_partition(&mut self) -> bool {
        let is_value = match self.peek_at(2).kind {
            TokenKind::Number | TokenKind::String => true,
            TokenKind::Symbol(symbol) => matches!(symbol, Symbol::OpenParen | Symbol::Minus),
            TokenKind::Word => {
                self.is_one_of_at(2, &["ID", "ALL"]) || self.is_symbol_at(3, Symbol::OpenParen)
            }
            _ => false,
        };
        is_value && self.is_phrase("IN PARTITION")
    }

    fn parse_prefix(&mut self) -> Parsed<Expr> {
        if self.is_word("NOT") {
            self.take();
            return self.parse_unary(UnaryOp::Not, power::NOT);
        }
        if self.is_symbol(Symbol::Plus) {
            self.take();
            return self.parse_power(power::MINUS);
        }
        if !self.is_symbol(Symbol::Minus) {
            return self.parse_operand();
        }
        self.take();
        // `-1::Int8` casts -1, not 1.
        if self.peek_kind() == TokenKind::Number && self.is_symbol_at(1, Symbol::DoubleColon) {
            let number = self.parse_primary()?;
            let value = Expr::Unary { op: UnaryOp::Minus, operand: Box::new(number) };
            return self.parse_postfix(value);
        }
        self.parse_unary(UnaryOp::Minus, power::MINUS)
    }

    fn parse_unary(&mut self, op: UnaryOp, least: u8) -> Parsed<Expr> {
        let operand = Box::new(self.parse_power(least)?);
        Ok(Expr::Unary { op, operand })
    }

    fn parse_infix(&mut self, left: Expr, infix: Infix) -> Parsed<Expr> {
        let operand = Box::new(left);
        Ok(match infix {
            Infix::Postgres(op) => self.parse_postgres_infix(*operand, op)?,
            Infix::Binary(op) if self.is_quantified(op) => self.parse_quantified(*operand, op)?,
            Infix::Binary(op) => {
                let right = self.parse_power(power::of_binary(op) + 1)?;
                let right = Box::new(self.parse_escape(right)?);
                Expr::Binary { op, left: operand, right }
            }
            Infix::IsNull { negated } => Expr::IsNull { operand, negated },
            Infix::In { negated, global } => {
                let right = Box::new(self.parse_power(power::COMPARE + 1)?);
                Expr::In { operand, right, negated, global }
            }
            Infix::Between { negated } => {
                let low = Box::new(self.parse_power(power::BETWEEN + 1)?);
                self.expect("AND")?;
                let high = Box::new(self.parse_power(power::BETWEEN + 1)?);
                Expr::Between { operand, low, high, negated }
            }
            Infix::Ternary => {
                let then = Box::new(self.parse_power(power::TERNARY)?);
                self.expect_symbol(Symbol::Colon)?;
                let otherwise = Box::new(self.parse_power(power::TERNARY)?);
                Expr::Ternary { condition: operand, then, otherwise }
            }
            Infix::Lambda => {
                let Some(params) = lambda_params(*operand) else {
                    return Err(self.refuse("left of `->` stand names: `x -> ..` or `(x, y) -> ..`"));
                };
                let body = Box::new(self.parse_power(power::LAMBDA)?);
                Expr::Lambda(Lambda { params, body })
            }
        })
    }

    /// The next operator and the number of its tokens.
    fn peek_infix(&mut self) -> Option<(Infix, usize)> {
        if self.is_postgres()
            && let Some((op, token_count)) = self.peek_postgres_operator()
        {
            return Some((Infix::Postgres(op), token_count));
        }
        match self.peek_kind() {
            TokenKind::Symbol(symbol) => symbol_infix(symbol).map(|infix| (infix, 1)),
            TokenKind::Word => self.peek_word_infix(),
            _ => None,
        }
    }

    fn peek_word_infix(&mut self) -> Option<(Infix, usize)> {
        const WORDS: &[(&str, BinaryOp)] = &[
            ("AND", BinaryOp::And),
            ("OR", BinaryOp::Or),
            ("LIKE", BinaryOp::Like),
            ("ILIKE", BinaryOp::ILike),
            ("NOT LIKE", BinaryOp::NotLike),
            ("NOT ILIKE", BinaryOp::NotILike),
            ("REGEXP", BinaryOp::Regexp),
            ("DIV", BinaryOp::IntDiv),
            ("MOD", BinaryOp::Modulo),
            ("IS NOT DISTINCT FROM", BinaryOp::IsNotDistinctFrom),
            ("IS DISTINCT FROM", BinaryOp::IsDistinctFrom),
        ];
        for &(phrase, op) in WORDS {
            if self.is_phrase(phrase) {
                return Some((Infix::Binary(op), phrase.split(' ').count()));
            }
        }
        let infix = match () {
            () if self.is_phrase("IS NULL") => (Infix::IsNull { negated: false }, 2),
            () if self.is_phrase("IS NOT NULL") => (Infix::IsNull { negated: true }, 3),
            () if self.is_phrase("BETWEEN") => (Infix::Between { negated: false }, 1),
            () if self.is_phrase("NOT BETWEEN") => (Infix::Between { negated: true }, 2),
            // `UPDATE a = 1 IN PARTITION 202401 WHERE ..`
            () if self.is_in_partition() => return None,
            () if self.is_phrase("IN") => (Infix::In { negated: false, global: false }, 1),
            () if self.is_phrase("NOT IN") => (Infix::In { negated: true, global: false }, 2),
            () if self.is_phrase("GLOBAL IN") => (Infix::In { negated: false, global: true }, 2),
            () if self.is_phrase("GLOBAL NOT IN") => (Infix::In { negated: true, global: true }, 3),
            () => return None,
        };
        Some(infix)
    }

    fn skip(&mut self, token_count: usize) {
        for _ in 0..token_count {
            self.take();
        }
    }
}

fn symbol_infix(symbol: Symbol) -> Option<Infix> {
    match symbol {
        Symbol::Question => Some(Infix::Ternary),
        Symbol::Arrow => Some(Infix::Lambda),
        other => binary_of(other).map(Infix::Binary),
    }
}

/// The operator that a symbol means.
pub(super) fn binary_of(symbol: Symbol) -> Option<BinaryOp> {
    Some(match symbol {
        Symbol::Plus => BinaryOp::Plus,
        Symbol::Minus => BinaryOp::Minus,
        Symbol::Asterisk => BinaryOp::Multiply,
        Symbol::Slash => BinaryOp::Divide,
        Symbol::Percent => BinaryOp::Modulo,
        Symbol::Concat => BinaryOp::Concat,
        Symbol::Equal => BinaryOp::Equals,
        Symbol::NotEqual => BinaryOp::NotEquals,
        Symbol::Less => BinaryOp::Less,
        Symbol::LessOrEqual => BinaryOp::LessOrEquals,
        Symbol::Greater => BinaryOp::Greater,
        Symbol::GreaterOrEqual => BinaryOp::GreaterOrEquals,
        Symbol::NullSafeEqual => BinaryOp::IsNotDistinctFrom,
        _ => return None,
    })
}

/// The names left of an arrow, or `None` if the left side is anything else.
fn lambda_params(left: Expr) -> Option<Vec<Ident>> {
    let single = |expr: Expr| match expr {
        Expr::Identifier(mut parts) if parts.len() == 1 => parts.pop(),
        _ => None,
    };
    match left {
        Expr::Tuple(names) => names.into_iter().map(single).collect(),
        other => single(other).map(|name| vec![name]),
    }
}
