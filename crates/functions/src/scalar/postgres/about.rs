//! `obj_description`, `col_description`, `pg_get_constraintdef`, `pg_get_indexdef`, `pg_get_viewdef`, `pg_get_expr`,
//! `pg_table_size` and their relatives: what the catalog knows about an object.
//!
//! Syntax: `pg_get_indexdef(oid [, column, pretty])`; other further arguments have no effect.

use std::sync::Arc;

use super::column::{integers, texts};
use crate::context::ObjectText;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, LowCardinality, Volatility};

/// Declares functions that return a text about the object of their first argument.
macro_rules! texts_about {
    ($($static:ident $name:literal $text:ident;)+) => { $(
        pub(super) static $static: Definition =
            Definition::any_case($name, Arity::Between(1, 3), |call| Ok(about(call, ObjectText::$text)))
                .sees_null()
                .low_cardinality(LowCardinality::Dropped)
                .volatility(Volatility::Stable);
    )+ };
}

texts_about! {
    COL_DESCRIPTION "col_description" Comment;
    OBJ_DESCRIPTION "obj_description" Comment;
    PG_GET_CONSTRAINTDEF "pg_get_constraintdef" Constraint;
    PG_GET_INDEXDEF "pg_get_indexdef" Index;
    PG_GET_VIEWDEF "pg_get_viewdef" View;
}

/// Definitions of objects that no database has here: NULL.
pub(super) static UNKNOWN_DEFINITION: Definition =
    Definition::any_case("pg_get_functiondef", Arity::Between(1, 4), |_| Ok(texts(|_, _| None)))
        .aliases(&[
            "pg_get_triggerdef",
            "pg_get_ruledef",
            "pg_get_partkeydef",
            "pg_get_serial_sequence",
            "pg_get_statisticsobjdef",
            "pg_get_statisticsobjdef_columns",
            "pg_get_function_arguments",
            "pg_get_function_identity_arguments",
            "pg_get_function_result",
            "pg_get_function_sqlbody",
            "pg_get_publication_tables",
            "shobj_description",
            "pg_tablespace_location",
            "pg_describe_object",
            "inet_server_addr",
            "inet_client_addr",
        ])
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

/// An expression of the catalog is a text already.
pub(super) static PG_GET_EXPR: Definition =
    Definition::any_case("pg_get_expr", Arity::Between(2, 3), |_| Ok(texts(|args, row| args[0].text(row))))
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static PG_TABLE_SIZE: Definition =
    Definition::any_case("pg_table_size", Arity::Between(1, 2), |call| Ok(bytes(call)))
        .aliases(&["pg_relation_size", "pg_total_relation_size"])
        .sees_null()
        .low_cardinality(LowCardinality::Dropped)
        .volatility(Volatility::Stable);

/// Indexes are inside of the files of their tables.
pub(super) static PG_INDEXES_SIZE: Definition =
    Definition::any_case("pg_indexes_size", Arity::Exactly(1), |_| {
        Ok(integers(|args, row| args[0].integer(row).map(|_| 0)))
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static PG_DATABASE_SIZE: Definition =
    Definition::any_case("pg_database_size", Arity::Exactly(1), |_| Ok(integers(|_, _| Some(0))))
        .aliases(&["pg_tablespace_size"])
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

/// What nobody counts or has: NULL.
pub(super) static UNKNOWN_NUMBER: Definition =
    Definition::any_case("pg_stat_get_numscans", Arity::Between(0, 1), |_| Ok(integers(|_, _| None)))
        .aliases(&["inet_server_port", "inet_client_port"])
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

fn about(call: &Call<'_>, text: ObjectText) -> Bound {
    let relations = Arc::clone(&call.context.relations);
    let has_position = matches!(text, ObjectText::Index) || call.name == "col_description";
    texts(move |args, row| {
        let position = match args.get(1).filter(|_| has_position) {
            Some(position) => position.integer(row)?,
            None => 0,
        };
        relations.text_of(text, args[0].oid(row)?, position)
    })
}

fn bytes(call: &Call<'_>) -> Bound {
    let relations = Arc::clone(&call.context.relations);
    integers(move |args, row| {
        let oid = match args[0].text(row) {
            Some(name) => relations.oid_of(crate::context::ObjectKind::Relation, &name),
            None => args[0].oid(row),
        };
        relations.bytes_of(oid?).and_then(|bytes| i64::try_from(bytes).ok())
    })
}
