//! The names of each type.

/// The canonical name of every type: suggestions come from this list.
pub(super) const CANONICAL_NAMES: &[&str] = &[
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt128",
    "UInt256",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Int256",
    "Float32",
    "Float64",
    "Bool",
    "String",
    "FixedString",
    "UUID",
    "Date",
    "Date32",
    "DateTime",
    "DateTime32",
    "DateTime64",
    "Decimal",
    "Decimal32",
    "Decimal64",
    "Decimal128",
    "Decimal256",
    "Enum",
    "Enum8",
    "Enum16",
    "IPv4",
    "IPv6",
    "Nothing",
    "Nullable",
    "LowCardinality",
    "Array",
    "Tuple",
    "Nested",
    "Map",
    "IntervalSecond",
    "IntervalMinute",
    "IntervalHour",
    "IntervalDay",
    "IntervalWeek",
    "IntervalMonth",
    "IntervalQuarter",
    "IntervalYear",
];

/// ClickHouse types that Basalt knows by name only.
const NOT_BUILT: &[&str] = &[
    "JSON",
    "Object",
    "Variant",
    "Dynamic",
    "AggregateFunction",
    "SimpleAggregateFunction",
    "Point",
    "Ring",
    "Polygon",
    "MultiPolygon",
    "LineString",
    "MultiLineString",
    "BFloat16",
    "Time",
    "Time64",
    "QBit",
];

/// ClickHouse's own names that match in any case.
const ANY_CASE: &[&str] = &[
    "Bool",
    "Date",
    "Date32",
    "DateTime",
    "DateTime32",
    "DateTime64",
    "Decimal",
    "Decimal32",
    "Decimal64",
    "Decimal128",
    "Decimal256",
    "Enum",
    "JSON",
    "Time",
    "Time64",
];

/// Names from other dialects, in upper case, and the types that they mean.
const ALIASES: &[(&str, &str)] = &[
    ("BIGINT", "Int64"),
    ("BIGINT SIGNED", "Int64"),
    ("BIGINT UNSIGNED", "UInt64"),
    ("BINARY", "FixedString"),
    ("BINARY LARGE OBJECT", "String"),
    ("BINARY VARYING", "String"),
    ("BIT", "UInt64"),
    ("BLOB", "String"),
    ("BOOLEAN", "Bool"),
    ("BYTE", "Int8"),
    ("BYTEA", "String"),
    ("CHAR", "String"),
    ("CHAR LARGE OBJECT", "String"),
    ("CHAR VARYING", "String"),
    ("CHARACTER", "String"),
    ("CHARACTER LARGE OBJECT", "String"),
    ("CHARACTER VARYING", "String"),
    ("CLOB", "String"),
    ("DEC", "Decimal"),
    ("DOUBLE", "Float64"),
    ("DOUBLE PRECISION", "Float64"),
    ("FIXED", "Decimal"),
    ("FLOAT", "Float32"),
    ("GEOMETRY", "String"),
    ("INET4", "IPv4"),
    ("INET6", "IPv6"),
    ("INT", "Int32"),
    ("INT SIGNED", "Int32"),
    ("INT UNSIGNED", "UInt32"),
    ("INT1", "Int8"),
    ("INTEGER", "Int32"),
    ("INTEGER SIGNED", "Int32"),
    ("INTEGER UNSIGNED", "UInt32"),
    ("LONGBLOB", "String"),
    ("LONGTEXT", "String"),
    ("MEDIUMBLOB", "String"),
    ("MEDIUMINT", "Int32"),
    ("MEDIUMINT SIGNED", "Int32"),
    ("MEDIUMINT UNSIGNED", "UInt32"),
    ("MEDIUMTEXT", "String"),
    ("NATIONAL CHAR", "String"),
    ("NATIONAL CHAR VARYING", "String"),
    ("NATIONAL CHARACTER", "String"),
    ("NATIONAL CHARACTER LARGE OBJECT", "String"),
    ("NATIONAL CHARACTER VARYING", "String"),
    ("NCHAR", "String"),
    ("NCHAR LARGE OBJECT", "String"),
    ("NCHAR VARYING", "String"),
    ("NUMERIC", "Decimal"),
    ("NVARCHAR", "String"),
    ("REAL", "Float32"),
    ("SET", "UInt64"),
    ("SIGNED", "Int64"),
    ("SINGLE", "Float32"),
    ("SMALLINT", "Int16"),
    ("SMALLINT SIGNED", "Int16"),
    ("SMALLINT UNSIGNED", "UInt16"),
    ("TEXT", "String"),
    ("TIMESTAMP", "DateTime"),
    ("TINYBLOB", "String"),
    ("TINYINT", "Int8"),
    ("TINYINT SIGNED", "Int8"),
    ("TINYINT UNSIGNED", "UInt8"),
    ("TINYTEXT", "String"),
    ("UNSIGNED", "UInt64"),
    ("VARBINARY", "String"),
    ("VARCHAR", "String"),
    ("VARCHAR2", "String"),
    ("YEAR", "UInt16"),
];

/// A name of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedType {
    pub name: &'static str,
    pub in_any_case: bool,
    /// The type that this is another name of; empty for a type's own name.
    pub alias_to: &'static str,
}

/// All names of all types.
pub fn type_names() -> impl Iterator<Item = NamedType> {
    let own = CANONICAL_NAMES.iter().map(|name| NamedType {
        name,
        in_any_case: ANY_CASE.contains(name),
        alias_to: "",
    });
    own.chain(ALIASES.iter().map(|(name, alias_to)| NamedType { name, in_any_case: true, alias_to }))
}

/// The canonical name of the type that `written` means.
pub(super) fn canonical_name(written: &str) -> Option<&'static str> {
    let exact = CANONICAL_NAMES.iter().chain(NOT_BUILT).find(|name| **name == written);
    let any_case = || ANY_CASE.iter().find(|name| name.eq_ignore_ascii_case(written));
    let alias = || ALIASES.iter().find(|(name, _)| name.eq_ignore_ascii_case(written)).map(|(_, name)| name);
    exact.or_else(any_case).or_else(alias).copied()
}
