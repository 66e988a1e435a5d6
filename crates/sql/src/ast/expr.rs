//! Expressions.

use basalt_base::types::IntervalUnit;

use super::{Ident, OrderBy, Query};

/// An expression as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// `a`, `t.a`, `db.t.a`: one to several parts, never empty.
    Identifier(Vec<Ident>),
    /// `*`, `t.*`, with `EXCEPT (..)` and `REPLACE (expr AS name)`.
    Asterisk {
        qualifier: Vec<Ident>,
        except: Vec<Ident>,
        replace: Vec<(Expr, Ident)>,
    },
    /// `COLUMNS('regex')`.
    ColumnsMatching(String),
    /// `{name:Type}`: a query parameter.
    Parameter {
        name: Ident,
        ty: TypeName,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `x [NOT] BETWEEN low AND high`.
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    /// `x IS [NOT] NULL`.
    IsNull {
        operand: Box<Expr>,
        negated: bool,
    },
    /// `x [GLOBAL] [NOT] IN right`, where right is a tuple, a subquery, a table name or a value.
    In {
        operand: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
        global: bool,
    },
    /// `CASE [operand] WHEN a THEN b .. [ELSE c] END`.
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// `c ? a : b`.
    Ternary {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// `CAST(x AS T)` and `x::T`. (`CAST(x, 'T')` is a plain function call.)
    Cast {
        operand: Box<Expr>,
        ty: TypeName,
    },
    /// `[a, b]`.
    Array(Vec<Expr>),
    /// `(a, b)`, `(a,)`, `()`: a tuple. `(a)` alone is just `a`.
    Tuple(Vec<Expr>),
    /// `{'a': 1}`.
    Map(Vec<(Expr, Expr)>),
    /// `a[i]`.
    ArrayElement {
        array: Box<Expr>,
        index: Box<Expr>,
    },
    /// `t.1`, `tuple.2`: position from 1.
    TupleElement {
        tuple: Box<Expr>,
        index: u64,
    },
    /// `f(x).name`: a field of something that is not a plain identifier.
    Field {
        value: Box<Expr>,
        name: Ident,
    },
    Function(FunctionCall),
    Lambda(Lambda),
    /// `INTERVAL x DAY`.
    Interval {
        value: Box<Expr>,
        unit: IntervalUnit,
    },
    /// `(SELECT ..)`.
    Subquery(Box<Query>),
    /// `EXISTS (SELECT ..)`.
    Exists(Box<Query>),
    /// `(expr AS name)` inside an expression: names `expr` for the whole query.
    Alias {
        value: Box<Expr>,
        name: Ident,
    },
}

/// A constant as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    /// `true`, `false`: of type Bool.
    Bool(bool),
    /// An integer without sign; a leading minus is a unary operator.
    UInt(u64),
    /// A negative integer: only where a literal alone is allowed (settings, type arguments), and
    /// folded from `-n` there.
    Int(i64),
    /// A number with a point or an exponent, or an integer too large for `UInt`: its text, so that
    /// a decimal loses no digit. `inf` and `nan` are here too.
    Number(String),
    /// The bytes of a string after its escapes are undone.
    String(Vec<u8>),
}

/// `name(parameters)(args)` and the clauses that may follow.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    pub name: Ident,
    /// `quantile(0.9)(x)`: `[0.9]`. Empty if there are no parameters.
    pub parameters: Vec<Expr>,
    pub distinct: bool,
    pub args: Vec<Expr>,
    /// `FILTER (WHERE cond)`.
    pub filter: Option<Box<Expr>>,
    /// `OVER (..)` or `OVER name`.
    pub over: Option<WindowSpec>,
}

impl FunctionCall {
    /// `name(args)` and nothing else.
    pub fn plain(name: &str, args: Vec<Expr>) -> FunctionCall {
        let (parameters, filter, over) = (Vec::new(), None, None);
        FunctionCall { name: name.to_owned(), parameters, distinct: false, args, filter, over }
    }
}

/// `(x, y) -> body`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lambda {
    pub params: Vec<Ident>,
    pub body: Box<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Minus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Plus,
    Minus,
    Multiply,
    Divide,
    /// `%` and `MOD`.
    Modulo,
    /// `DIV`.
    IntDiv,
    /// `||`.
    Concat,
    Equals,
    NotEquals,
    Less,
    LessOrEquals,
    Greater,
    GreaterOrEquals,
    /// `<=>` and `IS NOT DISTINCT FROM`.
    IsNotDistinctFrom,
    IsDistinctFrom,
    Like,
    NotLike,
    ILike,
    NotILike,
    /// `REGEXP`: the function `match`.
    Regexp,
    And,
    Or,
}

/// One item of a SELECT list.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectItem {
    pub expr: Expr,
    pub alias: Option<Ident>,
}

/// A type as written: `Map(String, Array(UInt8))`, `DateTime64(3, 'UTC')`, `Enum8('a' = 1)`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    pub name: Ident,
    pub args: Vec<TypeArgument>,
}

/// One argument of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeArgument {
    Type(TypeName),
    /// `name Type` inside `Tuple` and `Nested`.
    Named(Ident, TypeName),
    Literal(Literal),
    /// `'label' = value` inside an Enum; the value may be left out.
    EnumValue(String, Option<i64>),
}

/// The window after `OVER`, or after a name in the WINDOW clause.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WindowSpec {
    /// `OVER name`, or the base window inside the parentheses.
    pub base: Option<Ident>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderBy>,
    pub frame: Option<WindowFrame>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    pub unit: WindowFrameUnit,
    pub start: WindowBound,
    pub end: WindowBound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WindowBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}
