//! Parameters: `$1`.

use crate::ast::{Expr, Ident, Literal, Select, TypeName};
use crate::parser::cursor::{Cursor, Parsed};
use crate::postgres::{ParameterValue, PostgresParameter};

/// The type of a parameter that has none yet: the planner finds one from the place where it stands.
const UNKNOWN: &str = "Unknown";
/// An array of such a type.
pub(super) const UNKNOWN_ARRAY: &str = "UnknownArray";

/// The greatest number of a parameter: the protocol counts them in 16 bits.
const PARAMETERS_MAX: usize = 65_535;

impl Cursor<'_> {
    /// The number in the next token if it is `$n`.
    pub(super) fn peek_parameter(&mut self) -> Option<usize> {
        let token = self.peek();
        let digits = self.text(token).strip_prefix(b"$")?;
        let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (1..=PARAMETERS_MAX).contains(&number).then_some(number)
    }

    pub(super) fn parse_parameter(&mut self, number: usize) -> Parsed<Expr> {
        self.take();
        let Some(state) = &mut self.postgres else { return Err(self.unexpected()) };
        state.parameter_count = state.parameter_count.max(number);
        let parameter = state.parameters.get(number - 1).cloned().unwrap_or_default();
        Ok(value_of(number, parameter))
    }

    /// Remembers the type that a cast gives to an operand that is a parameter of no type.
    pub(super) fn note_cast(&mut self, operand: &Expr, ty: &TypeName) {
        if let (Some(number), Some(state)) = (unknown_parameter(operand), &mut self.postgres) {
            state.cast_types.push((number, ty.clone()));
        }
    }

    /// LIMIT and OFFSET of parameters without a value: any number, to know the columns.
    pub(in crate::parser) fn bind_limits(&mut self, select: &mut Select) {
        for limit in [&mut select.limit, &mut select.offset].into_iter().flatten() {
            if unknown_parameter(limit).is_some() {
                self.note_cast(limit, &type_name("Int64"));
                *limit = Expr::Literal(Literal::UInt(1));
            } else if let Expr::Cast { operand, .. } = limit
                && let Some(number) = whole_number(operand)
            {
                *limit = Expr::Literal(Literal::UInt(number));
            } else if let Some(number) = whole_number(limit) {
                *limit = Expr::Literal(Literal::UInt(number));
            }
        }
    }
}

/// The number that a text or an unbound value stands for.
fn whole_number(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Literal(Literal::String(text)) => std::str::from_utf8(text).ok()?.parse().ok(),
        Expr::Literal(Literal::Null) => Some(u64::MAX),
        _ => None,
    }
}

pub(super) fn type_name(name: &str) -> TypeName {
    TypeName { name: name.to_owned(), args: Vec::new() }
}

/// The number of a parameter without type and value.
pub(super) fn unknown_parameter(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Parameter { name, ty } if ty.name == UNKNOWN => name.parse().ok(),
        _ => None,
    }
}

fn value_of(number: usize, parameter: PostgresParameter) -> Expr {
    let PostgresParameter { ty, value } = parameter;
    let literal = match value {
        ParameterValue::Unbound if ty.is_none() => {
            let name: Ident = number.to_string();
            return Expr::Parameter { name, ty: type_name(UNKNOWN) };
        }
        ParameterValue::Unbound | ParameterValue::Null => Literal::Null,
        ParameterValue::Text(text) => Literal::String(text),
    };
    let value = Expr::Literal(literal);
    match ty {
        None => value,
        Some(ty) => Expr::Cast { operand: Box::new(value), ty: super::type_name::nullable(ty) },
    }
}
