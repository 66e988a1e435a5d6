//! The names that columns of a result have without an alias, by Postgres' rules.

use crate::ast::{Expr, Literal, Query, SelectItem, SetExpr};
use crate::lexer::{Symbol, TokenKind};
use crate::parser::cursor::Cursor;

use super::type_name::is_object_type;

/// The name of what has no other.
const NAMELESS: &str = "?column?";

/// Types of ours, and what Postgres calls them.
const TYPES: &[(&str, &str)] = &[
    ("Bool", "bool"),
    ("Int16", "int2"),
    ("Int32", "int4"),
    ("Int64", "int8"),
    ("Float32", "float4"),
    ("Float64", "float8"),
    ("Decimal", "numeric"),
    ("String", "text"),
    ("UUID", "uuid"),
    ("Date32", "date"),
    ("DateTime64", "timestamp"),
    ("UInt32", "oid"),
];

/// The first words of an item of a SELECT list.
#[derive(Clone, Debug)]
pub(in crate::parser) struct ItemStart {
    /// A word in lower case, without its schema.
    word: Option<String>,
    is_call: bool,
}

impl Cursor<'_> {
    /// How the item begins that comes next.
    pub(in crate::parser) fn item_start(&mut self) -> ItemStart {
        let in_catalog =
            self.is_one_of(&["pg_catalog", "information_schema"]) && self.is_symbol_at(1, Symbol::Dot);
        let at = if in_catalog { 2 } else { 0 };
        let token = self.peek_at(at);
        let word = (token.kind == TokenKind::Word)
            .then(|| String::from_utf8_lossy(self.text(token)).to_ascii_lowercase());
        ItemStart { word, is_call: self.is_symbol_at(at + 1, Symbol::OpenParen) }
    }

    /// Names an item without an alias. Names of columns alone stay as they are.
    pub(in crate::parser) fn name_item(&self, item: &mut SelectItem, start: &ItemStart) {
        let is_named = match &item.expr {
            Expr::Identifier(parts) => parts.len() == 1,
            Expr::Asterisk { .. } | Expr::ColumnsMatching(_) | Expr::Alias { .. } => true,
            _ => false,
        };
        if item.alias.is_none() && !is_named {
            item.alias = Some(name_of(&item.expr, start).unwrap_or_else(|| NAMELESS.to_owned()));
        }
    }
}

/// `None` for an expression without a name.
fn name_of(expr: &Expr, start: &ItemStart) -> Option<String> {
    match expr {
        Expr::Identifier(parts) => parts.last().cloned(),
        Expr::Field { name, .. } => Some(name.clone()),
        Expr::ArrayElement { array, .. } => name_of(array, start),
        Expr::Function(call) if is_object_type(&call.name) && start.word.as_ref() != Some(&call.name) => {
            call.args.first().and_then(|arg| name_of(arg, start)).or_else(|| Some(call.name.clone()))
        }
        Expr::Function(call) => match &start.word {
            Some(word) if start.is_call || call.args.is_empty() => Some(word.clone()),
            _ => None,
        },
        Expr::Cast { operand, ty } => name_of(operand, start).or_else(|| {
            let name = TYPES.iter().find(|(own, _)| mentions(ty, own)).map(|(_, name)| (*name).to_owned());
            name.or_else(|| Some(ty.name.to_ascii_lowercase()))
        }),
        Expr::Case { otherwise, .. } => {
            let last = otherwise.as_ref().and_then(|last| match last.as_ref() {
                Expr::Identifier(_) | Expr::Cast { .. } => name_of(last, start),
                Expr::Function(call) => Some(call.name.to_ascii_lowercase()),
                _ => None,
            });
            last.or_else(|| Some("case".to_owned()))
        }
        Expr::Subquery(query) => first_name(query),
        Expr::Exists(_) => Some("exists".to_owned()),
        Expr::Array(_) => Some("array".to_owned()),
        Expr::Tuple(_) => Some("row".to_owned()),
        Expr::Literal(Literal::Bool(_)) => Some("bool".to_owned()),
        Expr::Interval { .. } => Some("interval".to_owned()),
        _ => None,
    }
}

/// Whether a type is `own`, or a Nullable one.
fn mentions(ty: &crate::ast::TypeName, own: &str) -> bool {
    ty.name == own || ty.to_string().starts_with(&format!("Nullable({own}"))
}

/// The name of the column of a scalar subquery.
fn first_name(query: &Query) -> Option<String> {
    let mut body = &query.body;
    loop {
        body = match body {
            SetExpr::Select(select) => {
                let item = select.items.first()?;
                return match (&item.alias, &item.expr) {
                    (Some(alias), _) => Some(alias.clone()).filter(|alias| alias != NAMELESS),
                    (None, Expr::Identifier(parts)) => parts.last().cloned(),
                    _ => None,
                };
            }
            SetExpr::Operation { left, .. } => left,
            SetExpr::Nested(query) => &query.body,
        };
    }
}
