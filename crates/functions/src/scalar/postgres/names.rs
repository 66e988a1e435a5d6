//! `regclass`, `regtype`, `regproc`, `regnamespace`, `regrole`, `format_type`, `pg_get_userbyid`: numbers of objects,
//! and the names that belong to them.
//!
//! Syntax: `regclass('t')` is the number of the table `t`; `regclass(16384)` is its name. A cast `x::regclass` of the
//! Postgres dialect is this call.

use std::sync::Arc;

use arrow::array::UInt32Array;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::column::{Column, texts};
use crate::context::ObjectKind;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, LowCardinality, Operand, Volatility};

/// Declares functions from names to numbers and back.
macro_rules! object_types {
    ($($static:ident $name:literal [$($alias:literal),*] $kind:ident;)+) => { $(
        pub(super) static $static: Definition =
            Definition::any_case($name, Arity::Exactly(1), |call| bind(call, ObjectKind::$kind))
                .aliases(&[$($alias),*])
                .sees_null()
                .low_cardinality(LowCardinality::Dropped)
                .volatility(Volatility::Stable);
    )+ };
}

object_types! {
    REGCLASS "regclass" ["to_regclass"] Relation;
    REGTYPE "regtype" ["to_regtype"] Type;
    REGNAMESPACE "regnamespace" ["to_regnamespace"] Namespace;
    REGROLE "regrole" ["to_regrole"] Role;
}

/// A function is known by its name alone.
pub(super) static REGPROC: Definition = Definition::any_case("regproc", Arity::Exactly(1), |_| {
    Ok(texts(|args, row| {
        let name = args[0].text(row).or_else(|| args[0].integer(row).map(|number| number.to_string()))?;
        Some(name.strip_prefix("pg_catalog.").map(str::to_owned).unwrap_or(name))
    }))
})
.aliases(&["to_regproc"])
.sees_null()
.low_cardinality(LowCardinality::Dropped);

pub(super) static FORMAT_TYPE: Definition = Definition::any_case("format_type", Arity::Exactly(2), |call| {
    let relations = Arc::clone(&call.context.relations);
    Ok(texts(move |args, row| {
        let oid = args[0].oid(row)?;
        let name = relations.name_of(ObjectKind::Type, oid).unwrap_or_else(|| "???".to_owned());
        Some(with_modifier(&name, oid, args[1].integer(row).unwrap_or(-1)))
    }))
})
.sees_null()
.low_cardinality(LowCardinality::Dropped)
.volatility(Volatility::Stable);

pub(super) static PG_GET_USERBYID: Definition =
    Definition::any_case("pg_get_userbyid", Arity::Exactly(1), |call| {
        let relations = Arc::clone(&call.context.relations);
        Ok(texts(move |args, row| {
            let oid = args[0].oid(row)?;
            Some(relations.name_of(ObjectKind::Role, oid).unwrap_or_else(|| format!("unknown (OID={oid})")))
        }))
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped)
    .volatility(Volatility::Stable);

/// The numbers of `varchar`, `char(n)`, `numeric` and of the types of times.
const VARCHAR: u32 = 1043;
const BPCHAR: u32 = 1042;
const NUMERIC: u32 = 1700;

/// Bytes that a modifier counts in addition.
const MODIFIER_HEADER: i64 = 4;

fn with_modifier(name: &str, oid: u32, modifier: i64) -> String {
    let value = modifier - MODIFIER_HEADER;
    match oid {
        _ if value < 0 => name.to_owned(),
        VARCHAR | BPCHAR => format!("{name}({value})"),
        NUMERIC => format!("{name}({},{})", value >> 16, value & 0xffff),
        _ => name.to_owned(),
    }
}

/// By the type of the argument: a text gives a number, a number gives a text.
fn bind(call: &Call<'_>, kind: ObjectKind) -> Result<Bound> {
    let relations = Arc::clone(&call.context.relations);
    let is_cast = !call.name.starts_with("to_");
    let is_name = call.ty(0).stripped().is_string() || *call.ty(0).stripped() == SqlType::Nothing;
    if !is_name {
        return Ok(texts(move |args, row| {
            let oid = args[0].oid(row)?;
            let unknown = || if oid == 0 { "-".to_owned() } else { oid.to_string() };
            Some(relations.name_of(kind, oid).unwrap_or_else(unknown))
        }));
    }
    Ok(Bound::of(SqlType::UInt32.into_nullable(), move |operands: &[Operand], rows| {
        let names = Column::of(&operands[0])?;
        let oids = (0..rows).map(|row| match names.text(row) {
            None => Ok(None),
            Some(name) => match name.parse().ok().or_else(|| relations.oid_of(kind, &name)) {
                None if is_cast && kind == ObjectKind::Relation => {
                    Err(Error::new(ErrorCode::UnknownTable, format!("relation \"{name}\" does not exist")))
                }
                oid => Ok(oid),
            },
        });
        Ok(Arc::new(oids.collect::<Result<UInt32Array>>()?))
    }))
}
