//! Expressions, windows and types.

use basalt_base::types::IntervalUnit;
use basalt_sql::ast::{
    BinaryOp, CodecArg, CodecCall, Expr, FunctionCall, Lambda, Literal, OrderBy, TypeArgument, TypeName,
    UnaryOp, WindowBound, WindowFrame, WindowFrameUnit, WindowSpec, WithFill,
};
use proptest::prelude::*;

use super::{function_name, ident, literal, many, selection, signed_literal, some, text};

pub(crate) fn expr() -> BoxedStrategy<Expr> {
    leaf()
        .prop_recursive(4, 24, 3, |inner| {
            prop_oneof![operator(inner.clone()), bracket(inner.clone()), call(inner.clone()), query(inner)]
        })
        .boxed()
}

/// An expression without nested levels.
pub(crate) fn leaf() -> BoxedStrategy<Expr> {
    prop_oneof![
        3 => literal().prop_map(Expr::Literal),
        4 => many(ident()).prop_map(Expr::Identifier),
        1 => some(ident()).prop_map(|qualifier| Expr::Asterisk { qualifier, except: vec![], replace: vec![] }),
        1 => text().prop_map(Expr::ColumnsMatching),
        1 => (ident(), type_name()).prop_map(|(name, ty)| Expr::Parameter { name, ty }),
    ]
    .boxed()
}

fn operator(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> {
    let one = || inner.clone().prop_map(Box::new);
    prop_oneof![
        one().prop_map(|operand| Expr::Unary { op: UnaryOp::Not, operand }),
        one().prop_map(|operand| Expr::Unary { op: UnaryOp::Minus, operand }),
        (binary_op(), one(), one()).prop_map(|(op, left, right)| Expr::Binary { op, left, right }),
        (one(), one(), one(), any::<bool>()).prop_map(|(operand, low, high, negated)| Expr::Between {
            operand,
            low,
            high,
            negated
        }),
        (one(), any::<bool>()).prop_map(|(operand, negated)| Expr::IsNull { operand, negated }),
        (one(), one(), any::<bool>(), any::<bool>()).prop_map(|(operand, right, negated, global)| Expr::In {
            operand,
            right,
            negated,
            global
        }),
        (one(), one(), one()).prop_map(|(condition, then, otherwise)| Expr::Ternary {
            condition,
            then,
            otherwise
        }),
        (some(ident()), one()).prop_map(|(params, body)| Expr::Lambda(Lambda { params, body })),
    ]
}

fn bracket(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> {
    let one = || inner.clone().prop_map(Box::new);
    prop_oneof![
        (prop::option::of(one()), many((inner.clone(), inner.clone())), prop::option::of(one()))
            .prop_map(|(operand, branches, otherwise)| Expr::Case { operand, branches, otherwise }),
        (one(), type_name()).prop_map(|(operand, ty)| Expr::Cast { operand, ty }),
        some(inner.clone()).prop_map(Expr::Array),
        some(inner.clone()).prop_map(Expr::Tuple),
        some((inner.clone(), inner.clone())).prop_map(Expr::Map),
        (one(), one()).prop_map(|(array, index)| Expr::ArrayElement { array, index }),
        (one(), 0..300_u64).prop_map(|(tuple, index)| Expr::TupleElement { tuple, index }),
        (one(), ident()).prop_map(|(value, name)| Expr::Field { value, name }),
        (one(), ident()).prop_map(|(value, name)| Expr::Alias { value, name }),
        (one(), unit()).prop_map(|(value, unit)| Expr::Interval { value, unit }),
        (some(ident()), many(ident()), some((inner.clone(), ident())))
            .prop_map(|(qualifier, except, replace)| Expr::Asterisk { qualifier, except, replace }),
    ]
}

fn call(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> {
    let filter = prop::option::weighted(0.1, inner.clone().prop_map(Box::new));
    let over = prop::option::weighted(0.1, window(inner.clone()));
    let parameters = prop_oneof![4 => Just(Vec::new()), 1 => many(inner.clone())];
    (function_name(), parameters, prop::bool::weighted(0.1), some(inner), filter, over).prop_map(
        |(name, parameters, distinct, args, filter, over)| {
            // DISTINCT needs an argument.
            let distinct = distinct && !args.is_empty();
            Expr::Function(FunctionCall { name, parameters, distinct, args, filter, over })
        },
    )
}

fn query(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> {
    prop_oneof![
        selection::query(inner.clone()).prop_map(|query| Expr::Subquery(Box::new(query))),
        selection::query(inner).prop_map(|query| Expr::Exists(Box::new(query))),
    ]
}

pub(crate) fn order_by(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = OrderBy> {
    let option = || prop::option::weighted(0.3, inner.clone());
    let fill = (option(), option(), option()).prop_map(|(from, to, step)| WithFill { from, to, step });
    (
        inner.clone(),
        any::<bool>(),
        prop::option::of(any::<bool>()),
        prop::option::weighted(0.1, text()),
        prop::option::weighted(0.1, fill),
    )
        .prop_map(|(expr, descending, nulls_first, collate, fill)| OrderBy {
            expr,
            descending,
            nulls_first,
            collate,
            fill,
        })
}

pub(crate) fn window(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = WindowSpec> {
    let frame = (
        prop::sample::select(vec![WindowFrameUnit::Rows, WindowFrameUnit::Range, WindowFrameUnit::Groups]),
        bound(inner.clone()),
        bound(inner.clone()),
    )
        .prop_map(|(unit, start, end)| WindowFrame { unit, start, end });
    (prop::option::of(ident()), some(inner.clone()), some(order_by(inner)), prop::option::of(frame))
        .prop_map(|(base, partition_by, order_by, frame)| WindowSpec { base, partition_by, order_by, frame })
}

fn bound(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = WindowBound> {
    prop_oneof![
        Just(WindowBound::UnboundedPreceding),
        Just(WindowBound::CurrentRow),
        Just(WindowBound::UnboundedFollowing),
        inner.clone().prop_map(|distance| WindowBound::Preceding(Box::new(distance))),
        inner.prop_map(|distance| WindowBound::Following(Box::new(distance))),
    ]
}

fn unit() -> impl Strategy<Value = IntervalUnit> {
    prop::sample::select(vec![
        IntervalUnit::Second,
        IntervalUnit::Minute,
        IntervalUnit::Hour,
        IntervalUnit::Day,
        IntervalUnit::Week,
        IntervalUnit::Month,
        IntervalUnit::Quarter,
        IntervalUnit::Year,
    ])
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    prop::sample::select(vec![
        BinaryOp::Plus,
        BinaryOp::Minus,
        BinaryOp::Multiply,
        BinaryOp::Divide,
        BinaryOp::Modulo,
        BinaryOp::IntDiv,
        BinaryOp::Concat,
        BinaryOp::Equals,
        BinaryOp::NotEquals,
        BinaryOp::Less,
        BinaryOp::LessOrEquals,
        BinaryOp::Greater,
        BinaryOp::GreaterOrEquals,
        BinaryOp::IsNotDistinctFrom,
        BinaryOp::IsDistinctFrom,
        BinaryOp::Like,
        BinaryOp::NotLike,
        BinaryOp::ILike,
        BinaryOp::NotILike,
        BinaryOp::Regexp,
        BinaryOp::And,
        BinaryOp::Or,
    ])
}

pub(crate) fn type_name() -> BoxedStrategy<TypeName> {
    let plain = |name: String| TypeName { name, args: Vec::new() };
    let compound = prop::sample::select(vec!["DOUBLE PRECISION", "BIGINT UNSIGNED"]).prop_map(str::to_owned);
    let labels = many((text(), prop::option::of(any::<i64>()))).prop_map(|labels| TypeName {
        name: "Enum8".to_owned(),
        args: labels.into_iter().map(|(label, value)| TypeArgument::EnumValue(label, value)).collect(),
    });
    prop_oneof![8 => ident().prop_map(plain), 1 => compound.prop_map(plain), 1 => labels]
        .prop_recursive(3, 8, 3, |inner| {
            let argument = prop_oneof![
                inner.clone().prop_map(TypeArgument::Type),
                (ident(), inner).prop_map(|(name, ty)| TypeArgument::Named(name, ty)),
                argument_literal().prop_map(TypeArgument::Literal),
            ];
            (ident(), many(argument)).prop_map(|(name, args)| TypeName { name, args })
        })
        .boxed()
}

/// Literals that are no words, which would be types.
fn argument_literal() -> impl Strategy<Value = Literal> {
    signed_literal().prop_filter("a word is a type", |literal| match literal {
        Literal::Null | Literal::Bool(_) => false,
        Literal::Number(text) => !text.starts_with(['i', 'n']),
        _ => true,
    })
}

pub(crate) fn codec_call() -> impl Strategy<Value = CodecCall> {
    let arg = prop_oneof![signed_literal().prop_map(CodecArg::Literal), ident().prop_map(CodecArg::Name)];
    (ident(), some(arg)).prop_map(|(name, args)| CodecCall { name, args })
}
