//! The parts of an expression, to search and to replace.

use super::{Expr, FunctionCall, Lambda};

impl Expr {
    /// The direct parts of this expression. Does not enter subqueries.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Literal(_)
            | Expr::Identifier(_)
            | Expr::Asterisk { .. }
            | Expr::ColumnsMatching(_)
            | Expr::Parameter { .. }
            | Expr::Subquery(_)
            | Expr::Exists(_) => Vec::new(),
            Expr::Unary { operand: child, .. }
            | Expr::IsNull { operand: child, .. }
            | Expr::Cast { operand: child, .. }
            | Expr::TupleElement { tuple: child, .. }
            | Expr::Field { value: child, .. }
            | Expr::Interval { value: child, .. }
            | Expr::Alias { value: child, .. } => vec![child],
            Expr::Lambda(lambda) => vec![&lambda.body],
            Expr::Binary { left, right, .. } | Expr::In { operand: left, right, .. } => vec![left, right],
            Expr::ArrayElement { array, index } => vec![array, index],
            Expr::Between { operand, low, high, .. } => vec![operand, low, high],
            Expr::Ternary { condition, then, otherwise } => vec![condition, then, otherwise],
            Expr::Case { operand, branches, otherwise } => {
                let branches = branches.iter().flat_map(|(when, then)| [when, then]);
                operand.as_deref().into_iter().chain(branches).chain(otherwise.as_deref()).collect()
            }
            Expr::Array(elements) | Expr::Tuple(elements) => elements.iter().collect(),
            Expr::Map(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
            Expr::Function(FunctionCall { args, .. }) => args.iter().collect(),
        }
    }

    /// [`Expr::children`], to change them.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Expr::Literal(_)
            | Expr::Identifier(_)
            | Expr::Asterisk { .. }
            | Expr::ColumnsMatching(_)
            | Expr::Parameter { .. }
            | Expr::Subquery(_)
            | Expr::Exists(_) => Vec::new(),
            Expr::Unary { operand: child, .. }
            | Expr::IsNull { operand: child, .. }
            | Expr::Cast { operand: child, .. }
            | Expr::TupleElement { tuple: child, .. }
            | Expr::Field { value: child, .. }
            | Expr::Interval { value: child, .. }
            | Expr::Alias { value: child, .. } => vec![child],
            Expr::Lambda(lambda) => vec![&mut lambda.body],
            Expr::Binary { left, right, .. } | Expr::In { operand: left, right, .. } => vec![left, right],
            Expr::ArrayElement { array, index } => vec![array, index],
            Expr::Between { operand, low, high, .. } => vec![operand, low, high],
            Expr::Ternary { condition, then, otherwise } => vec![condition, then, otherwise],
            Expr::Case { operand, branches, otherwise } => {
                let branches = branches.iter_mut().flat_map(|(when, then)| [when, then]);
                operand.as_deref_mut().into_iter().chain(branches).chain(otherwise.as_deref_mut()).collect()
            }
            Expr::Array(elements) | Expr::Tuple(elements) => elements.iter_mut().collect(),
            Expr::Map(pairs) => pairs.iter_mut().flat_map(|(key, value)| [key, value]).collect(),
            Expr::Function(FunctionCall { args, .. }) => args.iter_mut().collect(),
        }
    }

    /// Whether `wanted` holds for the expression or for a part of it.
    pub fn any(&self, wanted: &mut dyn FnMut(&Expr) -> bool) -> bool {
        wanted(self) || self.children().into_iter().any(|child| child.any(wanted))
    }

    /// The number of expressions in it, itself included.
    pub fn count(&self) -> usize {
        let mut count = 0;
        let mut waiting = vec![self];
        while let Some(expr) = waiting.pop() {
            count += 1;
            waiting.extend(expr.children());
        }
        count
    }

    /// Every name in it, its parts joined by a point.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut waiting = vec![self];
        while let Some(expr) = waiting.pop() {
            if let Expr::Identifier(parts) = expr {
                names.push(parts.join("."));
            }
            waiting.extend(expr.children());
        }
        names
    }

    /// Replaces the columns for whose names `replacement` has an expression. A parameter of a lambda is not a column.
    pub fn replace_columns(&mut self, replacement: &dyn Fn(&str) -> Option<Expr>) {
        match self {
            Expr::Identifier(parts) => {
                if let Some(other) = replacement(&parts.join(".")) {
                    *self = other;
                }
            }
            Expr::Lambda(Lambda { params, body }) => {
                let is_free = |name: &str| params.iter().all(|param| param != name);
                body.replace_columns(&|name| if is_free(name) { replacement(name) } else { None });
            }
            other => {
                for child in other.children_mut() {
                    child.replace_columns(replacement);
                }
            }
        }
    }
}
