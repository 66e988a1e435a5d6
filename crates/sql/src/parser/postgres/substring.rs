//! SUBSTRING as PostgreSQL has it: positions before the first character count, and a pattern may be sought.

use crate::ast::{BinaryOp, Expr, Literal};

use super::type_name::call;

/// The call of `substring` with these arguments: text, position and length, or text and pattern.
pub(in crate::parser) fn substring(mut args: Vec<Expr>) -> Expr {
    let position = args.get(1).cloned();
    match (position, args.len()) {
        (Some(Expr::Literal(Literal::String(_))), 2) => call("extract", args),
        (None | Some(Expr::Literal(Literal::UInt(1..))), _) => call("substring", args),
        (Some(position), 2) => {
            args[1] = first_of(position);
            call("substring", args)
        }
        (Some(position), 3) => {
            // The text ends where the length says, counted from the position that is before it.
            let end = binary(BinaryOp::Plus, position.clone(), args[2].clone());
            let first = first_of(position);
            let length = binary(BinaryOp::Minus, end, first.clone());
            args[1] = first;
            args[2] = call("greatest", vec![length, number(0)]);
            call("substring", args)
        }
        _ => call("substring", args),
    }
}

fn first_of(position: Expr) -> Expr {
    call("greatest", vec![position, number(1)])
}

fn number(value: u64) -> Expr {
    Expr::Literal(Literal::UInt(value))
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
}
