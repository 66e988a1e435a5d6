//! SELECT, from the WITH clause to the FORMAT.

use super::{Expr, FunctionCall, Ident, ObjectName, SelectItem, Setting, WindowSpec};

/// A whole query: one SELECT, or several joined by set operators.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub body: SetExpr,
    pub into_outfile: Option<IntoOutfile>,
    /// `FORMAT name`.
    pub format: Option<Ident>,
    /// A SETTINGS clause after FORMAT; one inside a SELECT is in [`Select::settings`].
    pub settings: Vec<Setting>,
}

/// `INTO OUTFILE 'path' [COMPRESSION 'c' [LEVEL n]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntoOutfile {
    pub path: String,
    pub compression: Option<String>,
    /// Never without a compression.
    pub level: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetExpr {
    Select(Box<Select>),
    /// `left UNION ALL right` and the other set operators; left-associative.
    Operation {
        op: SetOperator,
        left: Box<SetExpr>,
        right: Box<SetExpr>,
    },
    /// `(SELECT ..)` as an operand.
    Nested(Box<Query>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    UnionAll,
    UnionDistinct,
    /// `UNION` alone: `union_default_mode` decides; an error unless that is set.
    Union,
    IntersectAll,
    IntersectDistinct,
    ExceptAll,
    ExceptDistinct,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Select {
    pub with: Vec<Cte>,
    pub with_recursive: bool,
    pub distinct: bool,
    /// `DISTINCT ON (a, b)`.
    pub distinct_on: Vec<Expr>,
    pub items: Vec<SelectItem>,
    pub from: Option<TableExpr>,
    pub prewhere: Option<Expr>,
    pub filter: Option<Expr>,
    pub group_by: Option<GroupBy>,
    pub with_totals: bool,
    pub having: Option<Expr>,
    pub windows: Vec<(Ident, WindowSpec)>,
    pub qualify: Option<Expr>,
    pub order_by: Vec<OrderBy>,
    /// `ORDER BY ALL`.
    pub order_by_all: bool,
    pub interpolate: Vec<Interpolation>,
    pub limit_by: Option<LimitBy>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub with_ties: bool,
    pub settings: Vec<Setting>,
}

/// One entry of the WITH clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Cte {
    /// `name AS (SELECT ..)`.
    Query { name: Ident, columns: Vec<Ident>, query: Box<Query> },
    /// `expr AS name`.
    Expr { name: Ident, value: Expr },
}

#[derive(Clone, Debug, PartialEq)]
pub enum GroupBy {
    /// `GROUP BY ALL`: every item of the list without an aggregate.
    All,
    Exprs(Vec<Expr>),
    /// `WITH ROLLUP` and `ROLLUP (..)`.
    Rollup(Vec<Expr>),
    /// `WITH CUBE` and `CUBE (..)`.
    Cube(Vec<Expr>),
    GroupingSets(Vec<Vec<Expr>>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct OrderBy {
    pub expr: Expr,
    pub descending: bool,
    /// `NULLS FIRST`: `Some(true)`.
    pub nulls_first: Option<bool>,
    pub collate: Option<String>,
    pub fill: Option<WithFill>,
}

/// `WITH FILL [FROM a] [TO b] [STEP c]`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WithFill {
    pub from: Option<Expr>,
    pub to: Option<Expr>,
    pub step: Option<Expr>,
}

/// `name [AS expr]` of an INTERPOLATE clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpolation {
    pub column: Ident,
    pub value: Option<Expr>,
}

/// `LIMIT [offset,] n BY exprs`.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitBy {
    pub limit: Expr,
    pub offset: Option<Expr>,
    pub exprs: Vec<Expr>,
}

/// The FROM clause: one factor and its joins.
#[expect(clippy::large_enum_variant, reason = "a FROM clause is mostly one factor")]
#[derive(Clone, Debug, PartialEq)]
pub enum TableExpr {
    Factor(TableFactor),
    Join(Box<Join>),
    ArrayJoin(Box<ArrayJoin>),
}

/// A table, a function or a subquery in FROM.
#[expect(clippy::large_enum_variant, reason = "a factor is mostly a table")]
#[derive(Clone, Debug, PartialEq)]
pub enum TableFactor {
    Table {
        name: ObjectName,
        alias: Option<Ident>,
        is_final: bool,
        /// `SAMPLE ratio [OFFSET ratio]`.
        sample: Option<(Expr, Option<Expr>)>,
    },
    Function {
        call: FunctionCall,
        alias: Option<Ident>,
    },
    Subquery {
        query: Box<Query>,
        alias: Option<Ident>,
    },
    /// `factor AS t (a, b)`: the columns get other names.
    Renamed {
        factor: Box<TableFactor>,
        columns: Vec<Ident>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    pub left: TableExpr,
    pub right: TableExpr,
    pub kind: JoinKind,
    /// `None` is ALL.
    pub strictness: Option<JoinStrictness>,
    pub global: bool,
    pub constraint: JoinConstraint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    Paste,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinStrictness {
    All,
    Any,
    Semi,
    Anti,
    Asof,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JoinConstraint {
    On(Expr),
    Using(Vec<Ident>),
    None,
}

/// `left [LEFT] ARRAY JOIN a AS x, b`.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayJoin {
    pub input: TableExpr,
    pub left: bool,
    pub items: Vec<SelectItem>,
}
