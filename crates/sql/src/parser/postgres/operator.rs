//! Operators: patterns, `OPERATOR(..)`, `= ANY (..)`, IS TRUE, AT TIME ZONE.

use crate::ast::{BinaryOp, Expr, Lambda, Literal, Query, UnaryOp};
use crate::lexer::{Symbol, TokenKind};
use crate::parser::cursor::{Cursor, Parsed};
use crate::parser::expr::power;

use super::parameter::{UNKNOWN_ARRAY, type_name, unknown_parameter};
use super::type_name::{array_elements, call};

/// An operator that ClickHouse's dialect does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::parser) enum PostgresOperator {
    /// `~` and its three relatives.
    Matches { any_case: bool, negated: bool },
    /// `&`.
    BitAnd,
    /// `OPERATOR(pg_catalog.=)`.
    Written(BinaryOp),
    /// `IS [NOT] TRUE`, `IS [NOT] FALSE`.
    Is { truth: bool, negated: bool },
    /// `IS [NOT] UNKNOWN`, ISNULL, NOTNULL.
    IsUnknown { negated: bool },
    /// `x AT TIME ZONE 'UTC'`.
    AtTimeZone,
}

impl PostgresOperator {
    pub(in crate::parser) fn power(self) -> u8 {
        match self {
            PostgresOperator::Is { .. } | PostgresOperator::IsUnknown { .. } => power::IS_NULL,
            PostgresOperator::AtTimeZone => power::MINUS,
            _ => power::CONCAT,
        }
    }
}

impl Cursor<'_> {
    /// The next operator and the number of its tokens.
    pub(in crate::parser) fn peek_postgres_operator(&mut self) -> Option<(PostgresOperator, usize)> {
        if let TokenKind::Symbol(symbol) = self.peek_kind() {
            return operator_of(symbol).map(|op| (op, 1));
        }
        const IS: &[(&str, PostgresOperator)] = &[
            ("IS TRUE", PostgresOperator::Is { truth: true, negated: false }),
            ("IS NOT TRUE", PostgresOperator::Is { truth: true, negated: true }),
            ("IS FALSE", PostgresOperator::Is { truth: false, negated: false }),
            ("IS NOT FALSE", PostgresOperator::Is { truth: false, negated: true }),
            ("IS UNKNOWN", PostgresOperator::IsUnknown { negated: false }),
            ("IS NOT UNKNOWN", PostgresOperator::IsUnknown { negated: true }),
            ("ISNULL", PostgresOperator::IsUnknown { negated: false }),
            ("NOTNULL", PostgresOperator::IsUnknown { negated: true }),
            ("AT TIME ZONE", PostgresOperator::AtTimeZone),
        ];
        if let Some((phrase, op)) = IS.iter().find(|(phrase, _)| self.is_phrase(phrase)) {
            return Some((*op, phrase.split(' ').count()));
        }
        self.peek_written_operator()
    }

    /// `OPERATOR(pg_catalog.~)`.
    fn peek_written_operator(&mut self) -> Option<(PostgresOperator, usize)> {
        if !(self.is_word("OPERATOR") && self.is_symbol_at(1, Symbol::OpenParen)) {
            return None;
        }
        let at = if self.is_symbol_at(3, Symbol::Dot) { 4 } else { 2 };
        let TokenKind::Symbol(symbol) = self.peek_at(at).kind else { return None };
        let op = operator_of(symbol)
            .or_else(|| crate::parser::expr::binary_of(symbol).map(PostgresOperator::Written))?;
        self.is_symbol_at(at + 1, Symbol::CloseParen).then_some((op, at + 2))
    }

    pub(in crate::parser) fn parse_postgres_infix(
        &mut self,
        left: Expr,
        op: PostgresOperator,
    ) -> Parsed<Expr> {
        let operand = Box::new(left);
        Ok(match op {
            PostgresOperator::Matches { any_case, negated } => {
                let pattern = self.parse_power(power::CONCAT + 1)?;
                let pattern = if any_case {
                    call("concat", vec![Expr::Literal(Literal::String(b"(?i)".to_vec())), pattern])
                } else {
                    pattern
                };
                let found = call("match", vec![*operand, pattern]);
                if negated { not(found) } else { found }
            }
            PostgresOperator::BitAnd => {
                let right = self.parse_power(power::CONCAT + 1)?;
                call("bitAnd", vec![*operand, right])
            }
            PostgresOperator::Written(op) => {
                let right = Box::new(self.parse_power(power::CONCAT + 1)?);
                Expr::Binary { op, left: operand, right }
            }
            PostgresOperator::Is { truth, negated } => {
                let op = if negated { BinaryOp::IsDistinctFrom } else { BinaryOp::IsNotDistinctFrom };
                let right = Box::new(Expr::Literal(Literal::Bool(truth)));
                Expr::Binary { op, left: operand, right }
            }
            PostgresOperator::IsUnknown { negated } => Expr::IsNull { operand, negated },
            PostgresOperator::AtTimeZone => {
                let zone = self.parse_power(power::MINUS + 1)?;
                call("toTimeZone", vec![*operand, zone])
            }
        })
    }

    /// `ESCAPE '/'` after the pattern of LIKE: the pattern with backslashes, which escape in ours.
    pub(in crate::parser) fn parse_escape(&mut self, pattern: Expr) -> Parsed<Expr> {
        if !(self.is_postgres() && self.eat("ESCAPE")) {
            return Ok(pattern);
        }
        let text = |text: &[u8]| Expr::Literal(Literal::String(text.to_vec()));
        let escape = self.parse_power(power::CONCAT + 1)?;
        let plain = call("replaceAll", vec![pattern, text(b"\\"), text(b"\\\\")]);
        Ok(call("replaceAll", vec![plain, escape, text(b"\\")]))
    }

    /// Whether `op` is a comparison with ANY, SOME or ALL of a list.
    pub(in crate::parser) fn is_quantified(&mut self, op: BinaryOp) -> bool {
        self.is_postgres()
            && op != BinaryOp::And
            && op != BinaryOp::Or
            && self.is_one_of(&["ANY", "SOME", "ALL"])
            && self.is_symbol_at(1, Symbol::OpenParen)
    }

    pub(in crate::parser) fn parse_quantified(&mut self, left: Expr, op: BinaryOp) -> Parsed<Expr> {
        let is_all = self.is_word("ALL");
        self.take();
        self.expect_symbol(Symbol::OpenParen)?;
        let is_query = self.is_query_at(0);
        let list = if is_query { Expr::Subquery(Box::new(self.parse_query()?)) } else { self.parse_expr()? };
        self.expect_symbol(Symbol::CloseParen)?;
        let operand = Box::new(left);
        if let Some(number) = unknown_parameter(&list) {
            let right = Box::new(Expr::Parameter { name: number.to_string(), ty: type_name(UNKNOWN_ARRAY) });
            return Ok(Expr::Binary { op, left: operand, right });
        }
        let negated = match (op, is_all) {
            (BinaryOp::Equals, false) => false,
            (BinaryOp::NotEquals, true) => true,
            _ => {
                let list = match list {
                    Expr::Subquery(query) if is_query => array_of_query(*query),
                    other => other,
                };
                return Ok(compared_with_each(*operand, op, list, is_all));
            }
        };
        Ok(match list {
            Expr::Array(elements) => {
                Expr::In { operand, right: Box::new(Expr::Tuple(elements)), negated, global: false }
            }
            Expr::Literal(Literal::String(text)) => {
                let elements = array_elements(&text).into_iter();
                let elements = elements.map(|element| Expr::Literal(Literal::String(element))).collect();
                Expr::In { operand, right: Box::new(Expr::Tuple(elements)), negated, global: false }
            }
            query @ Expr::Subquery(_) if is_query => {
                Expr::In { operand, right: Box::new(query), negated, global: false }
            }
            list => {
                let found = call("has", vec![list, *operand]);
                if negated { not(found) } else { found }
            }
        })
    }
}

/// `left op ANY (list)`: some or all elements satisfy the comparison.
fn compared_with_each(left: Expr, op: BinaryOp, list: Expr, is_all: bool) -> Expr {
    let list = match list {
        Expr::Literal(Literal::String(text)) => {
            let elements = array_elements(&text).into_iter();
            Expr::Array(elements.map(|element| Expr::Literal(Literal::String(element))).collect())
        }
        other => other,
    };
    let element = "element".to_owned();
    let right = Box::new(Expr::Identifier(vec![element.clone()]));
    let body = Box::new(Expr::Binary { op, left: Box::new(left), right });
    let each = Expr::Lambda(Lambda { params: vec![element], body });
    call(if is_all { "arrayAll" } else { "arrayExists" }, vec![each, list])
}

/// `ARRAY(query)`.
pub(super) fn array_of_query(query: Query) -> Expr {
    use crate::ast::{Select, SelectItem, SetExpr, TableExpr, TableFactor};
    let element = "element".to_owned();
    let source = TableFactor::Subquery { query: Box::new(query), alias: Some("elements".to_owned()) };
    let renamed = TableFactor::Renamed { factor: Box::new(source), columns: vec![element.clone()] };
    let gathered = call("groupArray", vec![Expr::Identifier(vec![element])]);
    let select = Select {
        items: vec![SelectItem { expr: gathered, alias: Some("array".to_owned()) }],
        from: Some(TableExpr::Factor(renamed)),
        ..Select::default()
    };
    let body = SetExpr::Select(Box::new(select));
    Expr::Subquery(Box::new(Query { body, into_outfile: None, format: None, settings: Vec::new() }))
}

fn not(operand: Expr) -> Expr {
    Expr::Unary { op: UnaryOp::Not, operand: Box::new(operand) }
}

fn operator_of(symbol: Symbol) -> Option<PostgresOperator> {
    if symbol == Symbol::Ampersand {
        return Some(PostgresOperator::BitAnd);
    }
    let (any_case, negated) = match symbol {
        Symbol::Matches => (false, false),
        Symbol::MatchesAnyCase => (true, false),
        Symbol::NotMatches => (false, true),
        Symbol::NotMatchesAnyCase => (true, true),
        _ => return None,
    };
    Some(PostgresOperator::Matches { any_case, negated })
}
