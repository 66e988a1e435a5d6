//! The name of a result column without an alias: its expression in ClickHouse's canonical form.
//!
//! Operators are written as calls of their functions: `avg(length(URL)) + 1` is named `plus(avg(length(URL)), 1)`.

use std::fmt::Write;

use basalt_base::types::quote_string;
use basalt_functions::registry;
use basalt_sql::ast::{
    BinaryOp, Expr, FunctionCall, Literal, OrderBy, UnaryOp, WindowBound, WindowFrameUnit, WindowSpec,
};

/// The canonical text of `expr`.
pub fn canonical(expr: &Expr) -> String {
    match expr {
        Expr::Literal(literal) => literal_text(literal),
        Expr::Identifier(parts) => parts.join("."),
        Expr::Asterisk { qualifier, .. } if qualifier.is_empty() => "*".to_owned(),
        Expr::Asterisk { qualifier, .. } => format!("{}.*", qualifier.join(".")),
        Expr::ColumnsMatching(pattern) => format!("COLUMNS({})", quote_string(pattern)),
        Expr::Parameter { name, ty } => format!("{{{name}:{ty}}}"),
        Expr::Unary { op: UnaryOp::Minus, operand } => match operand.as_ref() {
            Expr::Literal(literal @ (Literal::UInt(_) | Literal::Number(_))) => {
                format!("-{}", literal_text(literal))
            }
            _ => call("negate", [operand.as_ref()]),
        },
        Expr::Unary { op: UnaryOp::Not, operand } => call("not", [operand.as_ref()]),
        Expr::Binary { op, left, right } => binary(*op, left, right),
        Expr::Between { operand, low, high, negated } => {
            let (lower, upper, joined) =
                if *negated { ("less", "greater", "or") } else { ("greaterOrEquals", "lessOrEquals", "and") };
            let bounds = [call(lower, [operand.as_ref(), low]), call(upper, [operand.as_ref(), high])];
            format!("{joined}({})", bounds.join(", "))
        }
        Expr::IsNull { operand, negated } => {
            call(if *negated { "isNotNull" } else { "isNull" }, [operand.as_ref()])
        }
        Expr::In { operand, right, negated, global } => {
            let name = match (global, negated) {
                (false, false) => "in",
                (false, true) => "notIn",
                (true, false) => "globalIn",
                (true, true) => "globalNotIn",
            };
            call(name, [operand.as_ref(), right])
        }
        Expr::Case { operand, branches, otherwise } => {
            case(operand.as_deref(), branches, otherwise.as_deref())
        }
        Expr::Ternary { condition, then, otherwise } => call("if", [condition.as_ref(), then, otherwise]),
        Expr::Cast { operand, ty } => {
            format!("CAST({}, {})", canonical(operand), quote_string(&ty.to_string()))
        }
        Expr::Array(elements) => format!("[{}]", list(elements)),
        Expr::Tuple(elements) => format!("({})", list(elements)),
        Expr::Map(pairs) => {
            let flat: Vec<String> =
                pairs.iter().flat_map(|(key, value)| [canonical(key), canonical(value)]).collect();
            format!("map({})", flat.join(", "))
        }
        Expr::ArrayElement { array, index } => call("arrayElement", [array.as_ref(), index]),
        Expr::TupleElement { tuple, index } => format!("tupleElement({}, {index})", canonical(tuple)),
        Expr::Field { value, name } => format!("tupleElement({}, {})", canonical(value), quote_string(name)),
        Expr::Function(FunctionCall { name, args, .. }) if name == "array" => format!("[{}]", list(args)),
        Expr::Function(FunctionCall { name, args, .. }) if name == "tuple" => format!("({})", list(args)),
        Expr::Function(function) => function_text(function),
        Expr::Lambda(lambda) => {
            format!("lambda(tuple({}), {})", lambda.params.join(", "), canonical(&lambda.body))
        }
        Expr::Interval { value, unit } => format!("toInterval{unit}({})", canonical(value)),
        Expr::Subquery(_) => "_subquery1".to_owned(),
        Expr::Exists(_) => "exists(_subquery1)".to_owned(),
        Expr::Alias { name, .. } => name.clone(),
    }
}

/// The function of an operator.
pub(crate) fn function_of(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Plus => "plus",
        BinaryOp::Minus => "minus",
        BinaryOp::Multiply => "multiply",
        BinaryOp::Divide => "divide",
        BinaryOp::Modulo => "modulo",
        BinaryOp::IntDiv => "intDiv",
        BinaryOp::Concat => "concat",
        BinaryOp::Equals => "equals",
        BinaryOp::NotEquals => "notEquals",
        BinaryOp::Less => "less",
        BinaryOp::LessOrEquals => "lessOrEquals",
        BinaryOp::Greater => "greater",
        BinaryOp::GreaterOrEquals => "greaterOrEquals",
        BinaryOp::IsNotDistinctFrom => "isNotDistinctFrom",
        BinaryOp::IsDistinctFrom => "isDistinctFrom",
        BinaryOp::Like => "like",
        BinaryOp::NotLike => "notLike",
        BinaryOp::ILike => "ilike",
        BinaryOp::NotILike => "notILike",
        BinaryOp::Regexp => "match",
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
    }
}

/// The operands of a chain of one operator, left to right: `a AND b AND c` has three.
pub(crate) fn chain<'e>(op: BinaryOp, left: &'e Expr, right: &'e Expr) -> Vec<&'e Expr> {
    let mut operands = vec![right];
    let mut rest = left;
    while let Expr::Binary { op: inner, left, right } = rest
        && *inner == op
    {
        operands.push(right);
        rest = left;
    }
    operands.push(rest);
    operands.reverse();
    operands
}

fn binary(op: BinaryOp, left: &Expr, right: &Expr) -> String {
    let operands = match op {
        BinaryOp::And | BinaryOp::Or | BinaryOp::Concat => chain(op, left, right),
        _ => vec![left, right],
    };
    call(function_of(op), operands)
}

fn case(operand: Option<&Expr>, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> String {
    let mut args: Vec<String> = operand.map(canonical).into_iter().collect();
    args.extend(branches.iter().flat_map(|(when, then)| [canonical(when), canonical(then)]));
    args.push(otherwise.map_or_else(|| "NULL".to_owned(), canonical));
    let name = if operand.is_some() { "caseWithExpression" } else { "multiIf" };
    format!("{name}({})", args.join(", "))
}

fn function_text(function: &FunctionCall) -> String {
    let mut text = canonical_function_name(function);
    if !function.parameters.is_empty() {
        let _ = write!(text, "({})", list(&function.parameters));
    }
    let counts_rows = text == "count" && matches!(function.args.as_slice(), [Expr::Asterisk { .. }]);
    let args = if counts_rows { String::new() } else { list(&function.args) };
    let _ = write!(text, "({args})");
    if let Some(filter) = &function.filter {
        let _ = write!(text, " FILTER (WHERE {})", canonical(filter));
    }
    if let Some(over) = &function.over {
        let _ = write!(text, " OVER {}", window_text(over));
    }
    text
}

/// `COUNT` is `count`, and `count(DISTINCT x)` is `uniqExact(x)`.
fn canonical_function_name(function: &FunctionCall) -> String {
    let name = registry::aggregate(&function.name)
        .map(|found| found.name())
        .or_else(|| registry::scalar(&function.name).map(|found| found.name()));
    let same_but_for_case = name.filter(|name| name.eq_ignore_ascii_case(&function.name));
    let name = same_but_for_case.unwrap_or(&function.name);
    match (function.distinct, name) {
        (true, "count") => "uniqExact".to_owned(),
        (true, name) => format!("{name}Distinct"),
        (false, name) => name.to_owned(),
    }
}

fn window_text(window: &WindowSpec) -> String {
    let mut clauses = Vec::new();
    if let Some(base) = &window.base {
        if window.partition_by.is_empty() && window.order_by.is_empty() && window.frame.is_none() {
            return base.clone();
        }
        clauses.push(base.clone());
    }
    if !window.partition_by.is_empty() {
        clauses.push(format!("PARTITION BY {}", list(&window.partition_by)));
    }
    if !window.order_by.is_empty() {
        let orders: Vec<String> = window.order_by.iter().map(order_text).collect();
        clauses.push(format!("ORDER BY {}", orders.join(", ")));
    }
    if let Some(frame) = &window.frame {
        let unit = match frame.unit {
            WindowFrameUnit::Rows => "ROWS",
            WindowFrameUnit::Range => "RANGE",
            WindowFrameUnit::Groups => "GROUPS",
        };
        let (start, end) = (bound_text(&frame.start), bound_text(&frame.end));
        clauses.push(format!("{unit} BETWEEN {start} AND {end}"));
    }
    format!("({})", clauses.join(" "))
}

fn order_text(order: &OrderBy) -> String {
    let direction = if order.descending { "DESC" } else { "ASC" };
    let nulls = match order.nulls_first {
        Some(true) => " NULLS FIRST",
        Some(false) => " NULLS LAST",
        None => "",
    };
    format!("{} {direction}{nulls}", canonical(&order.expr))
}

fn bound_text(bound: &WindowBound) -> String {
    match bound {
        WindowBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
        WindowBound::Preceding(offset) => format!("{} PRECEDING", canonical(offset)),
        WindowBound::CurrentRow => "CURRENT ROW".to_owned(),
        WindowBound::Following(offset) => format!("{} FOLLOWING", canonical(offset)),
        WindowBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
    }
}

fn call<'e>(name: &str, args: impl IntoIterator<Item = &'e Expr>) -> String {
    let args: Vec<String> = args.into_iter().map(canonical).collect();
    format!("{name}({})", args.join(", "))
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(canonical).collect::<Vec<_>>().join(", ")
}

fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::UInt(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Number(text) => number_text(text),
        Literal::String(bytes) => quote_string(&String::from_utf8_lossy(bytes)),
    }
}

/// A float as in ClickHouse's names: with a point even if it is whole.
fn number_text(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value.fract() == 0.0 && value.abs() < 1e15 => {
            format!("{value:.0}.")
        }
        Ok(value) if value.is_finite() && value.abs() < 1e15 && value.abs() >= 1e-5 => format!("{value}"),
        _ => text.to_owned(),
    }
}
