//! Queries.

use std::fmt::{self, Display, Formatter};

use super::{Clause, Comma, ListClause, Name, Text, flag, format_clause, named_clause, names, text_clause};
use crate::ast::{
    Cte, GroupBy, Interpolation, Join, JoinConstraint, JoinKind, JoinStrictness, LimitBy, OrderBy, Query,
    Select, SetExpr, SetOperator, TableExpr, TableFactor, WithFill,
};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.body.fmt(f)?;
        if let Some(outfile) = &self.into_outfile {
            text_clause(f, "INTO OUTFILE", Some(&outfile.path))?;
            text_clause(f, "COMPRESSION", outfile.compression.as_ref())?;
            outfile.level.map_or(Ok(()), |level| write!(f, " LEVEL {level}"))?;
        }
        format_clause(f, self.format.as_ref())?;
        ListClause("SETTINGS", &self.settings).fmt(f)
    }
}

impl Display for SetExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SetExpr::Select(select) => select.fmt(f),
            SetExpr::Nested(query) => write!(f, "({query})"),
            SetExpr::Operation { op, left, right } => {
                let precedence = op.precedence();
                write!(f, "{} {op} {}", SetOperand(left, precedence), SetOperand(right, precedence + 1))
            }
        }
    }
}

/// An operand of a set operator: in parentheses if it binds less tightly than `least`.
struct SetOperand<'a>(&'a SetExpr, u8);

impl Display for SetOperand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SetOperand(SetExpr::Operation { op, .. }, least) if op.precedence() < *least => {
                write!(f, "({})", self.0)
            }
            SetOperand(operand, _) => operand.fmt(f),
        }
    }
}

impl SetOperator {
    /// INTERSECT binds more tightly than the others.
    pub(crate) fn precedence(self) -> u8 {
        u8::from(matches!(self, SetOperator::IntersectAll | SetOperator::IntersectDistinct))
    }
}

impl Display for SetOperator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetOperator::UnionAll => "UNION ALL",
            SetOperator::UnionDistinct => "UNION DISTINCT",
            SetOperator::Union => "UNION",
            SetOperator::IntersectAll => "INTERSECT",
            SetOperator::IntersectDistinct => "INTERSECT DISTINCT",
            SetOperator::ExceptAll => "EXCEPT",
            SetOperator::ExceptDistinct => "EXCEPT DISTINCT",
        })
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.with.is_empty() {
            let recursive = if self.with_recursive { "RECURSIVE " } else { "" };
            write!(f, "WITH {recursive}{} ", Comma(&self.with))?;
        }
        f.write_str("SELECT")?;
        flag(f, self.distinct, "DISTINCT")?;
        if !self.distinct_on.is_empty() {
            write!(f, " DISTINCT ON ({})", Comma(&self.distinct_on))?;
        }
        write!(f, " {}", Comma(&self.items))?;
        Clause("FROM", &self.from).fmt(f)?;
        Clause("PREWHERE", &self.prewhere).fmt(f)?;
        Clause("WHERE", &self.filter).fmt(f)?;
        Clause("GROUP BY", &self.group_by).fmt(f)?;
        flag(f, self.with_totals, "WITH TOTALS")?;
        Clause("HAVING", &self.having).fmt(f)?;
        let windows: Vec<String> =
            self.windows.iter().map(|(name, window)| format!("{} AS {window}", Name(name))).collect();
        ListClause("WINDOW", &windows).fmt(f)?;
        Clause("QUALIFY", &self.qualify).fmt(f)?;
        self.fmt_order(f)?;
        self.fmt_limits(f)?;
        ListClause("SETTINGS", &self.settings).fmt(f)
    }
}

impl Select {
    fn fmt_order(&self, f: &mut Formatter<'_>) -> fmt::Result {
        flag(f, self.order_by_all, "ORDER BY ALL")?;
        ListClause("ORDER BY", &self.order_by).fmt(f)?;
        if self.interpolate.is_empty() {
            Ok(())
        } else {
            write!(f, " INTERPOLATE ({})", Comma(&self.interpolate))
        }
    }

    fn fmt_limits(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Clause("LIMIT", &self.limit_by).fmt(f)?;
        match (&self.limit, &self.offset) {
            (Some(limit), Some(offset)) => write!(f, " LIMIT {offset}, {limit}")?,
            (limit, offset) => write!(f, "{}{}", Clause("LIMIT", limit), Clause("OFFSET", offset))?,
        }
        flag(f, self.with_ties, "WITH TIES")
    }
}

impl Display for Cte {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Cte::Query { name, columns, query } if columns.is_empty() => {
                write!(f, "{} AS ({query})", Name(name))
            }
            Cte::Query { name, columns, query } => {
                write!(f, "{} ({}) AS ({query})", Name(name), Comma(&names(columns)))
            }
            Cte::Expr { name, value } => write!(f, "{value} AS {}", Name(name)),
        }
    }
}

impl Display for GroupBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GroupBy::All => f.write_str("ALL"),
            GroupBy::Exprs(exprs) => Comma(exprs).fmt(f),
            GroupBy::Rollup(exprs) => write!(f, "ROLLUP({})", Comma(exprs)),
            GroupBy::Cube(exprs) => write!(f, "CUBE({})", Comma(exprs)),
            GroupBy::GroupingSets(sets) => {
                let sets: Vec<String> = sets.iter().map(|set| format!("({})", Comma(set))).collect();
                write!(f, "GROUPING SETS ({})", Comma(&sets))
            }
        }
    }
}

impl Display for OrderBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)?;
        flag(f, self.descending, "DESC")?;
        flag(f, self.nulls_first == Some(true), "NULLS FIRST")?;
        flag(f, self.nulls_first == Some(false), "NULLS LAST")?;
        text_clause(f, "COLLATE", self.collate.as_ref())?;
        self.fill.as_ref().map_or(Ok(()), |fill| write!(f, " WITH FILL{fill}"))
    }
}

/// The clause without the words `WITH FILL`.
impl Display for WithFill {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Clause("FROM", &self.from).fmt(f)?;
        Clause("TO", &self.to).fmt(f)?;
        Clause("STEP", &self.step).fmt(f)
    }
}

impl Display for Interpolation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Name(&self.column).fmt(f)?;
        Clause("AS", &self.value).fmt(f)
    }
}

impl Display for LimitBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(offset) = &self.offset {
            write!(f, "{offset}, ")?;
        }
        write!(f, "{} BY {}", self.limit, Comma(&self.exprs))
    }
}

impl Display for TableExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableExpr::Factor(factor) => factor.fmt(f),
            TableExpr::Join(join) => join.fmt(f),
            TableExpr::ArrayJoin(join) => {
                let left = if join.left { "LEFT " } else { "" };
                write!(f, "{} {left}ARRAY JOIN {}", join.input, Comma(&join.items))
            }
        }
    }
}

impl Display for TableFactor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableFactor::Table { name, alias, is_final, sample } => {
                name.fmt(f)?;
                named_clause(f, "AS", alias.as_ref())?;
                flag(f, *is_final, "FINAL")?;
                match sample {
                    None => Ok(()),
                    Some((ratio, offset)) => write!(f, " SAMPLE {ratio}{}", Clause("OFFSET", offset)),
                }
            }
            TableFactor::Function { call, alias } => {
                call.fmt(f)?;
                named_clause(f, "AS", alias.as_ref())
            }
            TableFactor::Subquery { query, alias } => {
                write!(f, "({query})")?;
                named_clause(f, "AS", alias.as_ref())
            }
            TableFactor::Renamed { factor, columns } => {
                write!(f, "{factor} ({})", Comma(&names(columns)))
            }
        }
    }
}

impl Display for Join {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.left.fmt(f)?;
        flag(f, self.global, "GLOBAL")?;
        f.write_str(match self.strictness {
            None => "",
            Some(JoinStrictness::All) => " ALL",
            Some(JoinStrictness::Any) => " ANY",
            Some(JoinStrictness::Semi) => " SEMI",
            Some(JoinStrictness::Anti) => " ANTI",
            Some(JoinStrictness::Asof) => " ASOF",
        })?;
        let kind = match self.kind {
            JoinKind::Inner => "INNER",
            JoinKind::Left => "LEFT",
            JoinKind::Right => "RIGHT",
            JoinKind::Full => "FULL",
            JoinKind::Cross => "CROSS",
            JoinKind::Paste => "PASTE",
        };
        write!(f, " {kind} JOIN {}", self.right)?;
        match &self.constraint {
            JoinConstraint::On(condition) => write!(f, " ON {condition}"),
            JoinConstraint::Using(columns) => write!(f, " USING ({})", Comma(&names(columns))),
            JoinConstraint::None => Ok(()),
        }
    }
}

/// A string as an SQL literal, for paths and patterns.
pub(super) fn quoted(text: &str) -> String {
    Text(text.as_bytes()).to_string()
}
