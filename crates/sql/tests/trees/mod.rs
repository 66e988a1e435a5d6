//! Strategies that build every kind of tree that the parser can build.

mod definition;
mod expression;
mod selection;

use basalt_sql::ast::{Literal, ObjectName, Setting};
use proptest::prelude::*;

pub(crate) use definition::statement;
pub(crate) use expression::expr;

/// Names: plain, in need of quotes, and keywords.
fn ident() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z][a-z0-9_]{0,4}",
        1 => prop::sample::select(vec![
            "select", "from", "date", "format", "all", "interval", "case", "left", "final", "null", "inf", "a b",
            "a`b", "a\\b", "1a", "n.x", "values", "day", "index", "primary", "not", "table", "Key", "with",
        ]).prop_map(str::to_owned),
        1 => "[ -~]{1,4}",
        1 => "\\PC{1,3}",
    ]
}

/// Names of functions, those with a grammar of their own among them.
fn function_name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z][a-zA-Z0-9]{0,5}",
        1 => prop::sample::select(vec![
            "cast", "position", "trim", "substring", "extract", "date_add", "dateDiff", "exists", "columns", "left",
            "any", "if", "not", "interval", "case", "all", "distinct", "tuple", "date", "array", "format", "grouping",
        ]).prop_map(str::to_owned),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![prop::collection::vec(any::<u8>(), 0..6), text().prop_map(String::into_bytes)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ';%\\\\\n]{0,6}", "\\PC{0,4}", Just("\0\t\u{1}".to_owned())]
}

/// Literals without sign.
fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Bool),
        any::<u64>().prop_map(Literal::UInt),
        (0..20_u64).prop_map(Literal::UInt),
        prop::sample::select(vec!["1.5", "1e5", ".5", "1.", "18446744073709551616", "inf", "nan", "0.1e-3"])
            .prop_map(|text| Literal::Number(text.to_owned())),
        bytes().prop_map(Literal::String),
    ]
}

/// Literals where a sign is part of them.
fn signed_literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        3 => literal(),
        1 => (i64::MIN..0).prop_map(Literal::Int),
        1 => Just(Literal::Number("-1.5".to_owned())),
    ]
}

fn object_name() -> impl Strategy<Value = ObjectName> {
    (prop::option::of(ident()), ident()).prop_map(|(database, name)| ObjectName { database, name })
}

fn settings() -> impl Strategy<Value = Vec<Setting>> {
    let setting = (ident(), signed_literal()).prop_map(|(name, value)| Setting { name, value });
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(setting, 1..3)]
}

/// None to three.
fn some<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(of, 0..3)
}

/// One to three.
fn many<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(of, 1..4)
}
