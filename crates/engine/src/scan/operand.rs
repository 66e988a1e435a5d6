//! Operands of conditions that an index can use: stored columns, and expressions that the table has an index on.

use basalt_base::{Columns, SqlType};
use basalt_parts::Operand;
use datafusion::logical_expr::Expr;

/// An expression that a table has a key or an index on.
#[derive(Clone, Debug)]
pub(crate) struct TableExpression {
    /// The expression in the form of the key or the index.
    pub(crate) text: String,
    pub(crate) ty: SqlType,
    /// Over the stored columns.
    pub(crate) expr: Expr,
}

/// The columns and expressions that a usable condition may be about.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a> {
    pub(crate) columns: &'a Columns,
    pub(crate) expressions: &'a [TableExpression],
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A position among the stored columns.
    Column(usize),
    /// A position among the table's expressions.
    Expression(usize),
}

impl Operands<'_> {
    pub(super) fn find(&self, expr: &Expr) -> Option<Subject> {
        match expr {
            Expr::Column(column) => self.columns.position(&column.name).map(Subject::Column),
            Expr::Literal(..) => None,
            other => {
                let position = self.expressions.iter().position(|known| known.expr == *other);
                position.map(Subject::Expression)
            }
        }
    }

    /// The expression that is `function` of `argument` alone.
    pub(super) fn find_call(&self, function: &str, argument: &Expr) -> Option<Subject> {
        let is_call = |known: &TableExpression| match &known.expr {
            Expr::ScalarFunction(call) => {
                call.func.name() == function && call.args == std::slice::from_ref(argument)
            }
            _ => false,
        };
        self.expressions.iter().position(is_call).map(Subject::Expression)
    }

    pub(super) fn ty(&self, subject: Subject) -> &SqlType {
        match subject {
            Subject::Column(at) => &self.columns[at].ty,
            Subject::Expression(at) => &self.expressions[at].ty,
        }
    }

    pub(super) fn name(&self, subject: Subject) -> Operand {
        match subject {
            Subject::Column(at) => Operand::Column(self.columns[at].name.clone()),
            Subject::Expression(at) => Operand::Expression(self.expressions[at].text.clone()),
        }
    }
}
