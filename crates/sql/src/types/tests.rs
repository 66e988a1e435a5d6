//! Which types names resolve to, and which names are refused.

use basalt_base::ErrorCode;

use super::*;
use crate::parse_type;

fn resolve(text: &str) -> Result<SqlType> {
    resolve_type(&parse_type(text.as_bytes())?)
}

/// `text` resolves to the type whose own name is `expected`.
fn check(text: &str, expected: &str) {
    match resolve(text) {
        Ok(ty) => assert_eq!(ty.to_string(), expected, "{text}"),
        Err(error) => panic!("{text}: {error}"),
    }
}

fn check_refused(text: &str, code: ErrorCode, part: &str) {
    match resolve(text) {
        Ok(ty) => panic!("{text} is {ty}"),
        Err(error) => {
            assert_eq!(error.code(), code, "{text}: {error}");
            assert!(error.message().contains(part), "{text}: {error}");
        }
    }
}

#[test]
fn every_type_resolves_from_its_own_name() {
    for name in [
        "UInt8",
        "Int64",
        "Int128",
        "UInt256",
        "Float32",
        "Bool",
        "String",
        "FixedString(7)",
        "UUID",
        "Date32",
        "DateTime",
        "DateTime('UTC')",
        "DateTime64(6)",
        "DateTime64(3, 'Europe/Berlin')",
        "Decimal(40, 2)",
        "Enum8('a' = -1, 'b' = 2)",
        "Enum16('a' = 1000)",
        "IPv4",
        "IPv6",
        "Nothing",
        "Nullable(String)",
        "LowCardinality(Nullable(String))",
        "Array(Array(UInt8))",
        "Tuple(a UInt8, `b c` Tuple(String, Date))",
        "Map(LowCardinality(String), Array(UInt64))",
        "IntervalDay",
    ] {
        check(name, name);
    }
}

#[test]
fn names_of_other_dialects_are_aliases_in_any_case() {
    check("varchar(20)", "String");
    check("TEXT", "String");
    check("bigint unsigned", "UInt64");
    check("INT(11) UNSIGNED", "UInt32");
    check("Double Precision", "Float64");
    check("boolean", "Bool");
    check("timestamp", "DateTime");
    check("datetime64(3, 'UTC')", "DateTime64(3, 'UTC')");
    check("numeric(9, 2)", "Decimal(9, 2)");
    check("BINARY(4)", "FixedString(4)");
}

#[test]
fn decimals_and_enums_fill_in_what_is_left_out() {
    check("Decimal", "Decimal(10, 0)");
    check("Decimal64(3)", "Decimal(18, 3)");
    check("DateTime64", "DateTime64(3)");
    check("Enum('a', 'b' = 5, 'c')", "Enum8('a' = 1, 'b' = 5, 'c' = 6)");
    check("Enum('a' = 300)", "Enum16('a' = 300)");
    check("Nested(a UInt8, b String)", "Array(Tuple(a UInt8, b String))");
}

#[test]
fn wrong_types_are_refused_by_name() {
    check_refused("Strng", ErrorCode::UnknownType, "did you mean `String`?");
    check_refused("uint8", ErrorCode::UnknownType, "did you mean `UInt8`?");
    check_refused("Nullable(Array(UInt8))", ErrorCode::IllegalTypeOfArgument, "Array(UInt8)");
    check_refused("LowCardinality(Decimal(9, 2))", ErrorCode::IllegalTypeOfArgument, "Decimal");
    check_refused("FixedString(0)", ErrorCode::UnexpectedAstStructure, "length");
    check_refused("Decimal(77, 2)", ErrorCode::ArgumentOutOfBound, "76");
    check_refused("Enum8('a' = 1, 'a' = 2)", ErrorCode::SyntaxError, "duplicate");
    check_refused("Enum8('a' = 200)", ErrorCode::ArgumentOutOfBound, "out of range");
    check_refused("UInt8(3)", ErrorCode::BadArguments, "arguments");
    check_refused("BFloat16", ErrorCode::NotImplemented, "BFloat16");
    check_refused("Map(Nullable(String), UInt8)", ErrorCode::BadArguments, "key");
}
