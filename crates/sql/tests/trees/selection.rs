//! Queries.

use basalt_sql::ast::{
    ArrayJoin, Cte, Expr, FunctionCall, GroupBy, Interpolation, Join, JoinConstraint, JoinKind,
    JoinStrictness, LimitBy, Query, Select, SelectItem, SetExpr, SetOperator, TableExpr, TableFactor,
};
use proptest::prelude::*;

use super::expression::{order_by, window};
use super::{ident, many, object_name, settings, some};

type Exprs = BoxedStrategy<Expr>;

/// A query as a part of something: without INTO, FORMAT and SETTINGS of its own.
pub(crate) fn query(inner: Exprs) -> BoxedStrategy<Query> {
    set_expr(inner)
        .prop_map(|body| Query { body, into_outfile: None, format: None, settings: Vec::new() })
        .boxed()
}

fn set_expr(inner: Exprs) -> BoxedStrategy<SetExpr> {
    let operand = || {
        let plain = select(inner.clone()).prop_map(|select| SetExpr::Select(Box::new(select))).boxed();
        let nested = select(inner.clone()).prop_map(|select| {
            let body = SetExpr::Select(Box::new(select));
            SetExpr::Nested(Box::new(Query { body, into_outfile: None, format: None, settings: Vec::new() }))
        });
        (plain.clone(), prop_oneof![3 => plain, 1 => nested])
    };
    let operators = vec![
        SetOperator::UnionAll,
        SetOperator::UnionDistinct,
        SetOperator::Union,
        SetOperator::IntersectAll,
        SetOperator::IntersectDistinct,
        SetOperator::ExceptAll,
        SetOperator::ExceptDistinct,
    ];
    let (single, first) = operand();
    let (_, second) = operand();
    let operation = (prop::sample::select(operators), first, second).prop_map(|(op, left, right)| {
        SetExpr::Operation { op, left: Box::new(left), right: Box::new(right) }
    });
    prop_oneof![5 => single, 1 => operation].boxed()
}

pub(crate) fn select_item(inner: Exprs) -> impl Strategy<Value = SelectItem> {
    (inner, prop::option::of(ident())).prop_map(|(expr, alias)| SelectItem { expr, alias })
}

fn select(inner: Exprs) -> BoxedStrategy<Select> {
    let option = || prop::option::weighted(0.2, inner.clone());
    let head = (
        some(cte(inner.clone())),
        any::<bool>(),
        0..3_u8,
        many(inner.clone()),
        many(select_item(inner.clone())),
        prop::option::weighted(0.7, table_expr(inner.clone())),
    );
    let filters = (
        option(),
        option(),
        prop::option::weighted(0.3, group_by(inner.clone())),
        any::<bool>(),
        option(),
        some((ident(), window(inner.clone()))),
        option(),
    );
    let tail = (
        some(order_by(inner.clone())),
        any::<bool>(),
        some((ident(), option()).prop_map(|(column, value)| Interpolation { column, value })),
        prop::option::weighted(0.2, limit_by(inner.clone())),
        option(),
        option(),
        any::<bool>(),
        settings(),
    );
    (head, filters, tail)
        .prop_map(|(head, filters, tail)| {
            let (with, recursive, distinct, distinct_on, items, from) = head;
            let (prewhere, filter, group_by, with_totals, having, windows, qualify) = filters;
            let (order_by, all, interpolate, limit_by, limit, offset, ties, settings) = tail;
            // Clauses that depend on each other.
            Select {
                with_recursive: recursive && !with.is_empty(),
                with,
                distinct: distinct == 1,
                distinct_on: if distinct == 2 { distinct_on } else { Vec::new() },
                items,
                from,
                prewhere,
                filter,
                group_by,
                with_totals,
                having,
                windows,
                qualify,
                order_by_all: all && order_by.is_empty(),
                interpolate: if order_by.is_empty() { Vec::new() } else { interpolate },
                order_by,
                limit_by,
                with_ties: ties && limit.is_some(),
                limit,
                offset,
                settings,
            }
        })
        .boxed()
}

fn cte(inner: Exprs) -> impl Strategy<Value = Cte> {
    let simple = inner.clone().prop_map(|expr| {
        let items = vec![SelectItem { expr, alias: None }];
        let body = SetExpr::Select(Box::new(Select { items, ..Select::default() }));
        Box::new(Query { body, into_outfile: None, format: None, settings: Vec::new() })
    });
    prop_oneof![
        (ident(), some(ident()), simple).prop_map(|(name, columns, query)| Cte::Query {
            name,
            columns,
            query
        }),
        (ident(), inner).prop_map(|(name, value)| Cte::Expr { name, value }),
    ]
}

fn group_by(inner: Exprs) -> impl Strategy<Value = GroupBy> {
    prop_oneof![
        Just(GroupBy::All),
        many(inner.clone()).prop_map(GroupBy::Exprs),
        many(inner.clone()).prop_map(GroupBy::Rollup),
        many(inner.clone()).prop_map(GroupBy::Cube),
        many(some(inner)).prop_map(GroupBy::GroupingSets),
    ]
}

fn limit_by(inner: Exprs) -> impl Strategy<Value = LimitBy> {
    (inner.clone(), prop::option::of(inner.clone()), many(inner)).prop_map(|(limit, offset, exprs)| LimitBy {
        limit,
        offset,
        exprs,
    })
}

fn table_expr(inner: Exprs) -> BoxedStrategy<TableExpr> {
    factor(inner.clone())
        .prop_map(TableExpr::Factor)
        .prop_recursive(2, 4, 1, move |left| {
            let array = (left.clone(), any::<bool>(), many(select_item(inner.clone()))).prop_map(
                |(input, left, items)| TableExpr::ArrayJoin(Box::new(ArrayJoin { input, left, items })),
            );
            prop_oneof![join(left, inner.clone()), array]
        })
        .boxed()
}

fn join(left: BoxedStrategy<TableExpr>, inner: Exprs) -> impl Strategy<Value = TableExpr> {
    let kinds = vec![
        JoinKind::Inner,
        JoinKind::Left,
        JoinKind::Right,
        JoinKind::Full,
        JoinKind::Cross,
        JoinKind::Paste,
    ];
    let strictnesses = vec![
        JoinStrictness::All,
        JoinStrictness::Any,
        JoinStrictness::Semi,
        JoinStrictness::Anti,
        JoinStrictness::Asof,
    ];
    let constraint = prop_oneof![
        inner.clone().prop_map(JoinConstraint::On),
        many(ident()).prop_map(JoinConstraint::Using),
    ];
    let strictness = prop::option::of(prop::sample::select(strictnesses));
    (left, factor(inner), prop::sample::select(kinds), strictness, any::<bool>(), constraint).prop_map(
        |(left, right, kind, strictness, global, constraint)| {
            let bare = matches!(kind, JoinKind::Cross | JoinKind::Paste);
            let constraint = if bare { JoinConstraint::None } else { constraint };
            let right = TableExpr::Factor(right);
            TableExpr::Join(Box::new(Join { left, right, kind, strictness, global, constraint }))
        },
    )
}

pub(crate) fn factor(inner: Exprs) -> BoxedStrategy<TableFactor> {
    let alias = || prop::option::of(ident());
    // An OFFSET is always there: one that is left out would take that of the SELECT.
    let sample = (inner.clone(), inner.clone().prop_map(Some));
    prop_oneof![
        3 => (object_name(), alias(), any::<bool>(), prop::option::weighted(0.1, sample))
            .prop_map(|(name, alias, is_final, sample)| TableFactor::Table { name, alias, is_final, sample }),
        1 => (ident(), some(inner.clone()), alias()).prop_map(|(name, args, alias)| {
            let call =
                FunctionCall { name, parameters: vec![], distinct: false, args, filter: None, over: None };
            TableFactor::Function { call, alias }
        }),
        1 => (select_item(inner), alias()).prop_map(|(item, alias)| {
            let body = SetExpr::Select(Box::new(Select { items: vec![item], ..Select::default() }));
            let query = Query { body, into_outfile: None, format: None, settings: Vec::new() };
            TableFactor::Subquery { query: Box::new(query), alias }
        }),
    ]
    .boxed()
}
