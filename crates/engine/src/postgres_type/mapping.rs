//! Which type of Postgres a value of each type of ours has on the wire and in the catalog.
//!
//! A type of Postgres holds every value of the type of ours: UInt32 is `int8`, UInt64 is `numeric`. Times are
//! `timestamptz`, because ours are instants and not readings of a clock.

use arrow::datatypes::Field;
use basalt_base::SqlType;
use basalt_base::types::Wide;

use super::types;

/// The type of a column as Postgres describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostgresType {
    pub oid: u32,
    /// Bytes of a value, negative if they vary.
    pub length: i16,
    /// The precision of a `numeric`; -1 without.
    pub modifier: i32,
}

const BOOL: u32 = 16;
const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const TEXT: u32 = 25;
const OID: u32 = 26;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
const INET: u32 = 869;
const OID_ARRAY: u32 = 1028;
const DATE: u32 = 1082;
const TIMESTAMPTZ: u32 = 1184;
const NUMERIC: u32 = 1700;
const UUID: u32 = 2950;

/// Digits of the greatest UInt64.
const UINT64_DIGITS: i32 = 20;

/// The key of a field's metadata under which the catalog's own columns have their exact type.
pub(crate) const EXACT_TYPE: &str = "postgres_type";

impl PostgresType {
    /// The type of values of `ty` in a column of a user's table.
    pub fn of_type(ty: &SqlType) -> PostgresType {
        of_type(ty)
    }

    /// The type of a parameter that a cast gives the type `ty`: UInt32 there is `oid`, written or meant.
    pub(crate) fn of_cast(ty: &SqlType) -> PostgresType {
        let oid = match ty.stripped() {
            SqlType::UInt32 => OID,
            SqlType::Array(element) if *element.stripped() == SqlType::UInt32 => OID_ARRAY,
            _ => return of_type(ty),
        };
        PostgresType { oid, length: length_of(oid), modifier: -1 }
    }

    /// The type of a result column; `field` is its field in the plan.
    pub(crate) fn of(ty: &SqlType, field: Option<&Field>) -> PostgresType {
        let exact = field.and_then(|field| field.metadata().get(EXACT_TYPE)).and_then(|oid| oid.parse().ok());
        match exact {
            Some(oid) => PostgresType { oid, length: length_of(oid), modifier: -1 },
            None => of_type(ty),
        }
    }
}

fn of_type(ty: &SqlType) -> PostgresType {
    let (oid, modifier) = match ty.stripped() {
        SqlType::Bool => (BOOL, -1),
        SqlType::Int8 | SqlType::UInt8 | SqlType::Int16 => (INT2, -1),
        SqlType::UInt16 | SqlType::Int32 => (INT4, -1),
        SqlType::UInt32 | SqlType::Int64 | SqlType::Interval(_) => (INT8, -1),
        SqlType::UInt64 => (NUMERIC, numeric_modifier(UINT64_DIGITS, 0)),
        SqlType::Wide(wide) => (NUMERIC, numeric_modifier(wide_digits(*wide), 0)),
        SqlType::Float32 => (FLOAT4, -1),
        SqlType::Float64 => (FLOAT8, -1),
        SqlType::Decimal { precision, scale } => {
            (NUMERIC, numeric_modifier(i32::from(*precision), i32::from(*scale)))
        }
        SqlType::Date | SqlType::Date32 => (DATE, -1),
        SqlType::DateTime(_) | SqlType::DateTime64 { .. } => (TIMESTAMPTZ, -1),
        SqlType::Uuid => (UUID, -1),
        SqlType::Ipv4 | SqlType::Ipv6 => (INET, -1),
        SqlType::Array(element) => (array_of(innermost(element)), -1),
        _ => (TEXT, -1),
    };
    PostgresType { oid, length: length_of(oid), modifier }
}

/// The most decimal digits of a number of the type.
fn wide_digits(wide: Wide) -> i32 {
    match wide {
        Wide::Int128 | Wide::UInt128 => 39,
        Wide::Int256 => 77,
        Wide::UInt256 => 78,
    }
}

/// The elements of nested arrays: Postgres has one type for every number of dimensions.
fn innermost(element: &SqlType) -> &SqlType {
    match element.stripped() {
        SqlType::Array(inner) => innermost(inner),
        other => other,
    }
}

fn array_of(element: &SqlType) -> u32 {
    types::by_oid(of_type(element).oid).map_or(TEXT, |row| row.array)
}

fn length_of(oid: u32) -> i16 {
    types::by_oid(oid).map_or(-1, |row| row.length)
}

const fn numeric_modifier(precision: i32, scale: i32) -> i32 {
    ((precision << 16) | scale) + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_postgres_hold_every_value() {
        let check = |ty: SqlType, oid: u32| assert_eq!(of_type(&ty).oid, oid, "{ty}");
        check(SqlType::UInt8, INT2);
        check(SqlType::UInt32, INT8);
        check(SqlType::UInt64.into_nullable(), NUMERIC);
        check(SqlType::array_of(SqlType::array_of(SqlType::Int32)), 1007);
        check(SqlType::tuple_of([SqlType::Int32]), TEXT);
        assert_eq!(of_type(&SqlType::Decimal { precision: 9, scale: 2 }).modifier, (9 << 16) + 2 + 4);
    }
}
