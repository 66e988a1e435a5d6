//! `pg_type`, `pg_am`, `pg_proc`, `pg_collation`, `pg_language`: what is the same in every database.

use super::cells::{Cell, Row};
use super::schemas::{CATALOG_NAMESPACE, OWNER};
use crate::execution::Execution;
use crate::postgres_type::{TypeRow, all};

/// The number of the language `internal`.
const INTERNAL: u32 = 12;
/// The number of the type `text`, which every function is shown to return.
const TEXT: u32 = 25;

pub(super) fn pg_type(_query: &Execution) -> Vec<Row> {
    let row = |ty: &TypeRow| {
        Row::default()
            .set("oid", ty.oid)
            .set("typname", ty.name)
            .set("typnamespace", CATALOG_NAMESPACE)
            .set("typowner", OWNER)
            .set("typlen", i64::from(ty.length))
            .set("typbyval", ty.by_value)
            .set("typtype", ty.kind)
            .set("typcategory", ty.category)
            .set("typispreferred", ty.preferred)
            .set("typisdefined", true)
            .set("typdelim", ty.delimiter)
            .set("typsubscript", if ty.category == "A" { "array_subscript_handler" } else { "-" })
            .set("typelem", ty.element)
            .set("typarray", ty.array)
            .set("typinput", ty.input)
            .set("typoutput", ty.output)
            .set("typreceive", ty.receive)
            .set("typsend", ty.send)
            .set("typmodin", "-")
            .set("typmodout", "-")
            .set("typanalyze", "-")
            .set("typalign", ty.alignment)
            .set("typstorage", ty.storage)
            .set("typtypmod", -1_i64)
            .set("typcollation", ty.collation)
    };
    all().iter().map(row).collect()
}

pub(super) fn pg_am(_query: &Execution) -> Vec<Row> {
    let row = |(oid, name, kind): (u32, &'static str, &'static str)| {
        Row::default().set("oid", oid).set("amname", name).set("amhandler", "-").set("amtype", kind)
    };
    [(2, "heap", "t"), (403, "btree", "i")].into_iter().map(row).collect()
}

pub(super) fn pg_language(_query: &Execution) -> Vec<Row> {
    let row = |(oid, name): (u32, &'static str)| {
        Row::default().set("oid", oid).set("lanname", name).set("lanowner", OWNER)
    };
    [(INTERNAL, "internal"), (13, "c"), (14, "sql")].into_iter().map(row).collect()
}

pub(super) fn pg_collation(_query: &Execution) -> Vec<Row> {
    let row = |(oid, name, provider): (u32, &'static str, &'static str)| {
        Row::default()
            .set("oid", oid)
            .set("collname", name)
            .set("collnamespace", CATALOG_NAMESPACE)
            .set("collowner", OWNER)
            .set("collprovider", provider)
            .set("collisdeterministic", true)
            .set("collencoding", -1_i64)
    };
    [(100, "default", "d"), (950, "C", "c"), (951, "POSIX", "c")].into_iter().map(row).collect()
}

/// The functions of the dialect, without their arguments.
pub(super) fn pg_proc(query: &Execution) -> Vec<Row> {
    let oids = &query.instance.postgres_oids;
    let row = |function: basalt_functions::registry::Listed| {
        Row::default()
            .set("oid", oids.of(&format!("function {}", function.name)))
            .set("proname", function.name)
            .set("pronamespace", CATALOG_NAMESPACE)
            .set("proowner", OWNER)
            .set("prolang", INTERNAL)
            .set("procost", 1_i64)
            .set("prokind", if function.is_aggregate { "a" } else { "f" })
            .set("provolatile", "i")
            .set("proparallel", "s")
            .set("prorettype", TEXT)
            .set("prosrc", function.name)
            .set("proacl", Cell::Null)
    };
    basalt_functions::registry::list().into_iter().map(row).collect()
}
