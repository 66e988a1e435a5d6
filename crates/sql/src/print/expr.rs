//! Expressions.

use std::fmt::{self, Display, Formatter};

use super::{Clause, Comma, ListClause, LooseName, Name, Text, names};
use crate::ast::{
    BinaryOp, Expr, FunctionCall, Lambda, Literal, SelectItem, UnaryOp, WindowBound, WindowFrame,
    WindowFrameUnit, WindowSpec,
};
use crate::parser::{interval_unit, power};

/// An operand: in parentheses if it binds less tightly than `least`.
struct Operand<'a>(&'a Expr, u8);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Operand(expr, least) = self;
        if expr_power(expr) < *least { write!(f, "({expr})") } else { expr.fmt(f) }
    }
}

/// How tightly the outermost operator of an expression binds.
fn expr_power(expr: &Expr) -> u8 {
    match expr {
        Expr::Lambda(_) => power::LAMBDA,
        Expr::Ternary { .. } => power::TERNARY,
        Expr::Unary { op: UnaryOp::Not, .. } => power::NOT,
        Expr::Unary { op: UnaryOp::Minus, .. } => power::MINUS,
        Expr::Between { .. } => power::BETWEEN,
        Expr::IsNull { .. } => power::IS_NULL,
        Expr::In { .. } => power::COMPARE,
        Expr::Binary { op, .. } => power::of_binary(*op),
        // Its list of exceptions would swallow the operator after it.
        Expr::Asterisk { .. } => power::LAMBDA,
        _ => power::POSTFIX,
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Literal(literal) => literal.fmt(f),
            Expr::Identifier(parts) => write_path(f, parts),
            Expr::ColumnsMatching(pattern) => write!(f, "COLUMNS({})", Text(pattern.as_bytes())),
            Expr::Parameter { name, ty } => write!(f, "{{{}:{ty}}}", Name(name)),
            Expr::Cast { operand, ty } => write!(f, "CAST({operand} AS {ty})"),
            Expr::Array(items) => write!(f, "[{}]", Comma(items)),
            Expr::Tuple(items) if items.len() == 1 => write!(f, "({},)", items[0]),
            Expr::Tuple(items) => write!(f, "({})", Comma(items)),
            Expr::Function(call) => call.fmt(f),
            Expr::Lambda(lambda) => lambda.fmt(f),
            Expr::Subquery(query) => write!(f, "({query})"),
            Expr::Exists(query) => write!(f, "EXISTS ({query})"),
            Expr::Alias { value, name } => write!(f, "({value} AS {})", Name(name)),
            Expr::Asterisk { .. } | Expr::Map(_) | Expr::Case { .. } => write_block(f, self),
            Expr::ArrayElement { .. }
            | Expr::TupleElement { .. }
            | Expr::Field { .. }
            | Expr::Interval { .. } => write_element(f, self),
            Expr::Unary { .. }
            | Expr::Binary { .. }
            | Expr::Between { .. }
            | Expr::IsNull { .. }
            | Expr::In { .. }
            | Expr::Ternary { .. } => write_operator(f, self),
        }
    }
}

fn write_path(f: &mut Formatter<'_>, parts: &[String]) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(".")?;
        }
        Name(part).fmt(f)?;
    }
    Ok(())
}

/// Expressions with lists of their own.
fn write_block(f: &mut Formatter<'_>, expr: &Expr) -> fmt::Result {
    match expr {
        Expr::Asterisk { qualifier, except, replace } => {
            write_path(f, qualifier)?;
            f.write_str(if qualifier.is_empty() { "*" } else { ".*" })?;
            if !except.is_empty() {
                write!(f, " EXCEPT ({})", Comma(&names(except)))?;
            }
            if replace.is_empty() {
                return Ok(());
            }
            let replacements: Vec<String> =
                replace.iter().map(|(value, name)| format!("{value} AS {}", Name(name))).collect();
            write!(f, " REPLACE ({})", Comma(&replacements))
        }
        Expr::Map(entries) => {
            let entries: Vec<String> = entries.iter().map(|(key, value)| map_entry(key, value)).collect();
            write!(f, "{{{}}}", Comma(&entries))
        }
        Expr::Case { operand, branches, otherwise } => {
            f.write_str("CASE")?;
            if let Some(operand) = operand {
                write!(f, " {operand}")?;
            }
            for (condition, value) in branches {
                write!(f, " WHEN {condition} THEN {value}")?;
            }
            if let Some(otherwise) = otherwise {
                write!(f, " ELSE {otherwise}")?;
            }
            f.write_str(" END")
        }
        _ => Ok(()),
    }
}

/// A bare word before the colon would make a query parameter.
fn map_entry(key: &Expr, value: &Expr) -> String {
    match key {
        Expr::Literal(Literal::String(_) | Literal::UInt(_)) => format!("{key}: {value}"),
        Expr::Identifier(_) | Expr::Literal(_) => format!("({key}): {value}"),
        key => format!("{key}: {value}"),
    }
}

/// Elements of values, and intervals.
fn write_element(f: &mut Formatter<'_>, expr: &Expr) -> fmt::Result {
    match expr {
        Expr::ArrayElement { array, index } => write!(f, "{}[{index}]", Owner(array)),
        Expr::TupleElement { tuple, index } => write!(f, "{}.{index}", Owner(tuple)),
        Expr::Field { value, name } => match value.as_ref() {
            // Without parentheses the point would make one longer name of both.
            Expr::Identifier(_) => write!(f, "({value}).{}", Name(name)),
            value => write!(f, "{}.{}", Owner(value), Name(name)),
        },
        Expr::Interval { value, unit } => {
            let unit = unit.to_string().to_ascii_uppercase();
            match value.as_ref() {
                Expr::Literal(_) | Expr::Identifier(_) => write!(f, "INTERVAL {value} {unit}"),
                value => write!(f, "INTERVAL ({value}) {unit}"),
            }
        }
        _ => Ok(()),
    }
}

/// The value that an element is taken from.
struct Owner<'a>(&'a Expr);

impl Display for Owner<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            // After a number, the point would become part of the number.
            Expr::Literal(_) | Expr::Interval { .. } => write!(f, "({})", self.0),
            owner => Operand(owner, power::POSTFIX).fmt(f),
        }
    }
}

fn write_operator(f: &mut Formatter<'_>, expr: &Expr) -> fmt::Result {
    match expr {
        Expr::Unary { op: UnaryOp::Not, operand } => write!(f, "NOT {}", Operand(operand, power::NOT)),
        // Two minus signs would start a comment.
        Expr::Unary { op: UnaryOp::Minus, operand } => match starts_with_minus(operand) {
            true => write!(f, "-({operand})"),
            false => write!(f, "-{}", Operand(operand, power::MINUS)),
        },
        Expr::Binary { op, left, right } => write_chain(f, *op, left, right),
        Expr::Between { operand, low, high, negated } => {
            let not = if *negated { "NOT " } else { "" };
            let least = power::BETWEEN + 1;
            let (low, high) = (Operand(low, least), Operand(high, least));
            write!(f, "{} {not}BETWEEN {low} AND {high}", Operand(operand, power::BETWEEN))
        }
        Expr::IsNull { operand, negated } => {
            let not = if *negated { "NOT " } else { "" };
            write!(f, "{} IS {not}NULL", Operand(operand, power::IS_NULL))
        }
        Expr::In { operand, right, negated, global } => {
            let global = if *global { "GLOBAL " } else { "" };
            let not = if *negated { "NOT " } else { "" };
            let right = Operand(right, power::COMPARE + 1);
            write!(f, "{} {global}{not}IN {right}", Operand(operand, power::COMPARE))
        }
        Expr::Ternary { condition, then, otherwise } => {
            let condition = Operand(condition, power::TERNARY + 1);
            write!(
                f,
                "{condition} ? {} : {}",
                Operand(then, power::TERNARY),
                Operand(otherwise, power::TERNARY)
            )
        }
        _ => Ok(()),
    }
}

/// `left op right`. A loop prints the left spine, since it may be long.
fn write_chain(f: &mut Formatter<'_>, op: BinaryOp, left: &Expr, right: &Expr) -> fmt::Result {
    let mut links = vec![(op, right)];
    let mut first = left;
    let mut least = power::of_binary(op);
    while let Expr::Binary { op, left, right } = first {
        if power::of_binary(*op) < least {
            break;
        }
        links.push((*op, right));
        first = left;
        least = power::of_binary(*op);
    }
    Operand(first, least).fmt(f)?;
    for (op, right) in links.into_iter().rev() {
        write!(f, " {} {}", symbol(op), Operand(right, power::of_binary(op) + 1))?;
    }
    Ok(())
}

/// Whether the printed text begins with a minus sign.
fn starts_with_minus(expr: &Expr) -> bool {
    match expr {
        Expr::Unary { op: UnaryOp::Minus, .. } => true,
        Expr::Literal(literal) => literal.to_string().starts_with('-'),
        _ => false,
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Plus => "+",
        BinaryOp::Minus => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::IntDiv => "DIV",
        BinaryOp::Concat => "||",
        BinaryOp::Equals => "=",
        BinaryOp::NotEquals => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessOrEquals => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterOrEquals => ">=",
        BinaryOp::IsNotDistinctFrom => "<=>",
        BinaryOp::IsDistinctFrom => "IS DISTINCT FROM",
        BinaryOp::Like => "LIKE",
        BinaryOp::NotLike => "NOT LIKE",
        BinaryOp::ILike => "ILIKE",
        BinaryOp::NotILike => "NOT ILIKE",
        BinaryOp::Regexp => "REGEXP",
        BinaryOp::And => "AND",
        BinaryOp::Or => "OR",
    }
}

impl Display for FunctionCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_misread(self) {
            write!(f, "`{}`", self.name)?;
        } else {
            LooseName(&self.name).fmt(f)?;
        }
        if !self.parameters.is_empty() {
            write!(f, "({})", Comma(&self.parameters))?;
        }
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        write!(f, "({distinct}{})", Comma(&self.args))?;
        if let Some(filter) = &self.filter {
            write!(f, " FILTER (WHERE {filter})")?;
        }
        match &self.over {
            None => Ok(()),
            Some(WindowSpec { base: Some(base), partition_by, order_by, frame: None })
                if partition_by.is_empty() && order_by.is_empty() =>
            {
                write!(f, " OVER {}", Name(base))
            }
            Some(window) => write!(f, " OVER {window}"),
        }
    }
}

/// Whether a call would parse as one of the special forms of the SQL standard.
fn is_misread(call: &FunctionCall) -> bool {
    let is_one_of = |names: &[&str]| names.iter().any(|name| call.name.eq_ignore_ascii_case(name));
    let is_plain =
        !call.distinct && call.parameters.is_empty() && call.filter.is_none() && call.over.is_none();
    let is_unit = |arg: &Expr| match arg {
        Expr::Identifier(parts) => interval_unit(&parts[0]).is_some(),
        _ => false,
    };
    let first = call.parameters.first().or(call.args.first());
    match call.args.as_slice() {
        args if is_one_of(&["cast"]) => !is_plain || args.len() < 2,
        [Expr::In { .. }] if is_one_of(&["position"]) => true,
        _ if is_one_of(&["position", "substring", "substr"]) => !is_plain,
        _ if is_one_of(&["date_diff", "dateDiff", "timestamp_diff", "timestampDiff"]) => {
            first.is_some_and(is_unit)
        }
        _ => false,
    }
}

impl Display for Lambda {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.params.as_slice() {
            [single] => Name(single).fmt(f)?,
            params => write!(f, "({})", Comma(&names(params)))?,
        }
        write!(f, " -> {}", self.body)
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)?;
        self.alias.as_ref().map_or(Ok(()), |alias| write!(f, " AS {}", Name(alias)))
    }
}

/// With its parentheses.
impl Display for WindowSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut clauses = self.base.as_ref().map_or_else(String::new, |base| Name(base).to_string());
        clauses += &ListClause("PARTITION BY", &self.partition_by).to_string();
        clauses += &ListClause("ORDER BY", &self.order_by).to_string();
        clauses += &Clause("", &self.frame).to_string();
        write!(f, "({})", clauses.trim_start())
    }
}

impl Display for WindowFrame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            WindowFrameUnit::Rows => "ROWS",
            WindowFrameUnit::Range => "RANGE",
            WindowFrameUnit::Groups => "GROUPS",
        };
        write!(f, "{unit} BETWEEN {} AND {}", self.start, self.end)
    }
}

impl Display for WindowBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            WindowBound::UnboundedPreceding => f.write_str("UNBOUNDED PRECEDING"),
            WindowBound::CurrentRow => f.write_str("CURRENT ROW"),
            WindowBound::UnboundedFollowing => f.write_str("UNBOUNDED FOLLOWING"),
            WindowBound::Preceding(distance) => write!(f, "{} PRECEDING", Operand(distance, power::SUM)),
            WindowBound::Following(distance) => write!(f, "{} FOLLOWING", Operand(distance, power::SUM)),
        }
    }
}
