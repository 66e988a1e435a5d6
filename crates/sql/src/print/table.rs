//! CREATE TABLE and its column list.

use std::fmt::{self, Display, Formatter};

use basalt_base::types::quote_identifier;

use super::{Clause, Comma, ListClause, Name, QuotedName, Text, flag, names, text_clause};
use crate::ast::{
    ColumnDef, CreateTable, DefaultKind, EngineCall, Expr, IndexDef, OrderBy, TableElement, TableSource,
};
use crate::parser::is_reserved;
use crate::types::resolve_type;

/// On one line, or (`{:#}`) on several as SHOW CREATE prints it: every name in backticks, types in full.
impl Display for CreateTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CREATE")?;
        flag(f, self.or_replace, "OR REPLACE")?;
        flag(f, self.temporary, "TEMPORARY")?;
        f.write_str(" TABLE")?;
        flag(f, self.if_not_exists, "IF NOT EXISTS")?;
        write!(f, " {}", self.name)?;
        match self.elements.as_slice() {
            [] => {}
            elements if f.alternate() => {
                let lines: Vec<String> = elements.iter().map(|element| format!("    {element:#}")).collect();
                write!(f, "\n(\n{}\n)", lines.join(",\n"))?;
            }
            elements => write!(f, " ({})", Comma(elements))?,
        }
        for clause in self.clauses().iter().filter(|clause| !clause.is_empty()) {
            match f.alternate() {
                true => write!(f, "\n{}", clause.trim_start())?,
                false => f.write_str(clause)?,
            }
        }
        Ok(())
    }
}

impl CreateTable {
    /// The clauses after the columns, each with a space before it; empty texts for absent clauses.
    fn clauses(&self) -> [String; 9] {
        let comment = |text: &String| format!(" COMMENT {}", Text(text.as_bytes()));
        [
            Clause("ENGINE =", &self.engine).to_string(),
            Clause("PARTITION BY", &self.partition_by).to_string(),
            self.primary_key.as_ref().map(|key| format!(" PRIMARY KEY {}", Key(key))).unwrap_or_default(),
            self.order_by.as_ref().map(|key| format!(" ORDER BY {}", SortingKey(key))).unwrap_or_default(),
            Clause("SAMPLE BY", &self.sample_by).to_string(),
            ListClause("TTL", &self.ttl).to_string(),
            ListClause("SETTINGS", &self.settings).to_string(),
            self.comment.as_ref().map(comment).unwrap_or_default(),
            self.source.as_ref().map(|source| format!(" {source}")).unwrap_or_default(),
        ]
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
            TableSource::Query(query) => write!(f, "AS {query}"),
            TableSource::EmptyQuery(query) => write!(f, "EMPTY AS {query}"),
            TableSource::Like(name) => write!(f, "AS {name}"),
            TableSource::Function(call) => write!(f, "AS {call}"),
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
            TableElement::ColumnGroup { name, columns } => {
                write!(f, "COLUMN GROUP {} ({})", Name(name), Comma(&names(columns)))
            }
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
        match f.alternate() {
            true => QuotedName(&self.name).fmt(f)?,
            false => Name(&self.name).fmt(f)?,
        }
        match &self.ty {
            Some(ty) if f.alternate() => match resolve_type(ty) {
                Ok(resolved) => write!(f, " {resolved}")?,
                Err(_) => write!(f, " {ty}")?,
            },
            Some(ty) => write!(f, " {ty}")?,
            None => {}
        }
        flag(f, self.nullable == Some(true), "NULL")?;
        flag(f, self.nullable == Some(false), "NOT NULL")?;
        if let Some((kind, value)) = &self.default {
            match (kind, value) {
                (kind, None) => write!(f, " {kind}")?,
                // Its value may be left out, so a word after it could be the next clause.
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
        let Some(kind) = &self.kind else {
            return match &self.expr {
                Expr::Tuple(_) => self.expr.fmt(f),
                expr => write!(f, "({expr})"),
            };
        };
        match &self.expr {
            Expr::Identifier(_) | Expr::Tuple(_) => self.expr.fmt(f)?,
            Expr::Function(call) if !is_reserved(&call.name) => call.fmt(f)?,
            // A word such as NULL after the name would make a column of the entry.
            expr => write!(f, "({expr})")?,
        }
        write!(f, " TYPE {kind}")?;
        Clause("GRANULARITY", &self.granularity).fmt(f)
    }
}
