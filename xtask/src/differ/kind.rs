//! Column types, each with values at its limits.

/// Types that functions treat in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Integer,
    Float,
    Decimal,
    Date,
    Time,
    Text,
    Enum,
    Uuid,
    Address,
    Bool,
    Integers,
    Texts,
    Map,
    Tuple,
}

pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) family: Family,
    /// Literals for VALUES.
    pub(crate) values: &'static [&'static str],
}

impl Kind {
    pub(crate) fn may_be_null(&self) -> bool {
        !matches!(self.family, Family::Integers | Family::Texts | Family::Map | Family::Tuple)
    }

    /// Whether its LowCardinality form is allowed by default.
    pub(crate) fn may_be_low_cardinality(&self) -> bool {
        self.family == Family::Text
    }

    /// An expression of exactly this type.
    pub(crate) fn constant(&self, value: &str) -> String {
        format!("CAST({value} AS {})", self.name)
    }
}

pub(crate) const KINDS: &[Kind] = &[
    Kind { name: "UInt8", family: Family::Integer, values: &["0", "1", "2", "127", "128", "255"] },
    Kind { name: "Int8", family: Family::Integer, values: &["-128", "-1", "0", "1", "127"] },
    Kind { name: "UInt16", family: Family::Integer, values: &["0", "1", "255", "256", "65535"] },
    Kind { name: "Int16", family: Family::Integer, values: &["-32768", "-1", "0", "3", "32767"] },
    Kind { name: "UInt32", family: Family::Integer, values: &["0", "1", "1000", "4294967295"] },
    Kind { name: "Int32", family: Family::Integer, values: &["-2147483648", "-7", "0", "2", "2147483647"] },
    Kind {
        name: "UInt64",
        family: Family::Integer,
        values: &["0", "1", "2", "9223372036854775807", "9223372036854775808", "18446744073709551615"],
    },
    Kind {
        name: "Int64",
        family: Family::Integer,
        values: &["-9223372036854775808", "-1", "0", "1", "5", "9223372036854775807"],
    },
    Kind {
        name: "Float32",
        family: Family::Float,
        values: &["0", "-0.", "1.5", "-2.25", "nan", "inf", "16777216"],
    },
    Kind {
        name: "Float64",
        family: Family::Float,
        values: &["0", "-0.", "0.1", "-2.5", "nan", "inf", "-inf", "1e300"],
    },
    Kind { name: "Decimal(9, 2)", family: Family::Decimal, values: &["0", "1.50", "-1.55", "9999999.99"] },
    Kind {
        name: "Decimal(18, 4)",
        family: Family::Decimal,
        values: &["0", "1.5", "-0.0001", "'99999999999999.9999'"],
    },
    Kind {
        name: "Decimal(38, 10)",
        family: Family::Decimal,
        values: &["0", "1.5", "-3.3333333333", "'12345678901234567890.5'"],
    },
    Kind {
        name: "Date",
        family: Family::Date,
        values: &["'1970-01-01'", "'2000-02-29'", "'2024-12-31'", "'2149-06-06'"],
    },
    Kind {
        name: "Date32",
        family: Family::Date,
        values: &["'1900-01-01'", "'1969-12-31'", "'2000-02-29'", "'2299-12-30'"],
    },
    Kind {
        name: "DateTime('UTC')",
        family: Family::Time,
        values: &[
            "'1970-01-01 00:00:00'",
            "'2000-02-29 00:00:00'",
            "'2024-12-31 23:59:59'",
            "'2106-02-07 06:28:15'",
        ],
    },
    Kind {
        name: "DateTime('Europe/Berlin')",
        family: Family::Time,
        values: &[
            "'2024-03-31 01:59:59'",
            "'2024-03-31 03:00:00'",
            "'2024-10-27 03:00:00'",
            "'2000-02-29 00:00:00'",
        ],
    },
    Kind {
        name: "DateTime64(3, 'UTC')",
        family: Family::Time,
        values: &[
            "'1900-01-01 00:00:00.000'",
            "'1969-12-31 23:59:59.999'",
            "'2000-02-29 00:00:00.001'",
            "'2262-01-01 00:00:00'",
        ],
    },
    Kind {
        name: "String",
        family: Family::Text,
        values: &[
            "''",
            "'a'",
            "'A'",
            "'abc'",
            "'a\\0b'",
            "'\u{e4}\u{f6}'",
            "'10'",
            "'-1'",
            "'3.5'",
            "'2000-02-29'",
            "' b '",
        ],
    },
    Kind { name: "FixedString(3)", family: Family::Text, values: &["''", "'a'", "'abc'", "'10'"] },
    Kind { name: "Enum8('a' = 1, 'b' = 2, 'z' = -3)", family: Family::Enum, values: &["'a'", "'b'", "'z'"] },
    Kind {
        name: "UUID",
        family: Family::Uuid,
        values: &[
            "'00000000-0000-0000-0000-000000000000'",
            "'00000000-0000-0002-0000-000000000001'",
            "'00000000-0000-0001-0000-000000000002'",
        ],
    },
    Kind { name: "IPv4", family: Family::Address, values: &["'0.0.0.0'", "'10.0.0.1'", "'255.255.255.255'"] },
    Kind { name: "IPv6", family: Family::Address, values: &["'::'", "'::ffff:10.0.0.1'", "'2001:db8::1'"] },
    Kind { name: "Bool", family: Family::Bool, values: &["false", "true"] },
    Kind { name: "Array(UInt8)", family: Family::Integers, values: &["[]", "[1]", "[3, 1, 2]", "[0, 255]"] },
    Kind { name: "Array(Int64)", family: Family::Integers, values: &["[]", "[-1]", "[5, 5, 1]"] },
    Kind {
        name: "Array(String)",
        family: Family::Texts,
        values: &["[]", "['']", "['b', 'a']", "['a', 'a']"],
    },
    Kind {
        name: "Map(String, UInt64)",
        family: Family::Map,
        values: &["map()", "map('a', 1)", "map('b', 2, 'a', 3)"],
    },
    Kind {
        name: "Tuple(UInt8, String)",
        family: Family::Tuple,
        values: &["(0, '')", "(1, 'a')", "(1, 'b')"],
    },
];

/// One of the kinds of `family`, chosen by any number.
pub(crate) fn of_family(family: Family, number: usize) -> &'static Kind {
    let kinds: Vec<&Kind> = KINDS.iter().filter(|kind| kind.family == family).collect();
    kinds[number % kinds.len()]
}
