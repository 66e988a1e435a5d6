//! CREATE TABLE and what its column list holds.

use std::fmt::{self, Display, Formatter};

use basalt_base::types::quote_identifier;

use super::{Clause, Comma, ListClause, Name, flag, text_clause};
use crate::ast::{
    ColumnDef, CreateTable, DefaultKind, EngineCall, Expr, IndexDef, OrderBy, TableElement, TableSource,
};
use crate::parser::is_reserved;

impl Display for CreateTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CREATE")?;
        flag(f, self.or_replace, "OR REPLACE")?;
        flag(f, self.temporary, "TEMPORARY")?;
        f.write_str(" TABLE")?;
        flag(f, self.if_not_exists, "IF NOT EXISTS")?;
        write!(f, " {}", self.name)?;
        if !self.elements.is_empty() {
            write!(f, " ({})", Comma(&self.elements))?;
        }
        Clause("ENGINE =", &self.engine).fmt(f)?;
        Clause("PARTITION BY", &self.partition_by).fmt(f)?;
        if let Some(key) = &self.primary_key {
            write!(f, " PRIMARY KEY {}", Key(key))?;
        }
        if let Some(key) = &self.order_by {
            write!(f, " ORDER BY {}", SortingKey(key))?;
        }
        Clause("SAMPLE BY", &self.sample_by).fmt(f)?;
        ListClause("TTL", &self.ttl).fmt(f)?;
        ListClause("SETTINGS", &self.settings).fmt(f)?;
        text_clause(f, "COMMENT", self.comment.as_ref())?;
        Clause("AS", &self.source).fmt(f)
    }
}

/// A key with its parentheses; `tuple()` where it has no parts.
struct Key<'a>(&'a [Expr]);

impl Display for Key<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("tuple()"),
            [single @ Expr::Identifier(_)] => single.fmt(f),
            [single] => write!(f, "({single},)"),
            parts => write!(f, "({})", Comma(parts)),
        }
    }
}

pub(super) struct SortingKey<'a>(pub(super) &'a [OrderBy]);

impl Display for SortingKey<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("tuple()"),
            [single] if matches!(single.expr, Expr::Identifier(_)) && !single.descending => single.fmt(f),
            parts => write!(f, "({})", Comma(parts)),
        }
    }
}

impl Display for TableSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableSource::Query(query) => query.fmt(f),
            TableSource::Like(name) => name.fmt(f),
            TableSource::Function(call) => call.fmt(f),
        }
    }
}

impl Display for EngineCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&quote_identifier(&self.name))?;
        if self.args.is_empty() { Ok(()) } else { write!(f, "({})", Comma(&self.args)) }
    }
}

impl Display for TableElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableElement::Column(column) => column.fmt(f),
            TableElement::Index(index) => index.fmt(f),
            TableElement::Constraint { name, assume, expr } => {
                let verb = if *assume { "ASSUME" } else { "CHECK" };
                write!(f, "CONSTRAINT {} {verb} {expr}", Name(name))
            }
            TableElement::Projection { name, query } => write!(f, "PROJECTION {} ({query})", Name(name)),
        }
    }
}

impl Display for ColumnDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Name(&self.name).fmt(f)?;
        if let Some(ty) = &self.ty {
            write!(f, " {ty}")?;
        }
        flag(f, self.nullable == Some(true), "NULL")?;
        flag(f, self.nullable == Some(false), "NOT NULL")?;
        if let Some((kind, value)) = &self.default {
            match (kind, value) {
                (kind, None) => write!(f, " {kind}")?,
                // Its value may be left out, so a word behind it could be the next clause.
                (DefaultKind::Ephemeral, Some(value)) => write!(f, " {kind} ({value})")?,
                (kind, Some(value)) => write!(f, " {kind} {value}")?,
            }
        }
        text_clause(f, "COMMENT", self.comment.as_ref())?;
        if !self.codec.is_empty() {
            write!(f, " CODEC({})", Comma(&self.codec))?;
        }
        Clause("TTL", &self.ttl).fmt(f)?;
        if !self.settings.is_empty() {
            write!(f, " SETTINGS ({})", Comma(&self.settings))?;
        }
        Ok(())
    }
}

impl Display for DefaultKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DefaultKind::Default => "DEFAULT",
            DefaultKind::Materialized => "MATERIALIZED",
            DefaultKind::Alias => "ALIAS",
            DefaultKind::Ephemeral => "EPHEMERAL",
        })
    }
}

impl Display for IndexDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "INDEX {} ", Name(&self.name))?;
        match &self.expr {
            Expr::Identifier(_) | Expr::Tuple(_) => self.expr.fmt(f)?,
            Expr::Function(call) if !is_reserved(&call.name) => call.fmt(f)?,
            // A word such as NULL behind the name would make a column of the entry.
            expr => write!(f, "({expr})")?,
        }
        write!(f, " TYPE {}", self.kind)?;
        Clause("GRANULARITY", &self.granularity).fmt(f)
    }
}
