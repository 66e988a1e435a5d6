//! The name of a type as SQL writes it; `sql` parses the same names back.

use std::fmt;

use super::{IntervalUnit, SqlType, TupleElement, quote_identifier, quote_string};

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::UInt8 => f.write_str("UInt8"),
            SqlType::UInt16 => f.write_str("UInt16"),
            SqlType::UInt32 => f.write_str("UInt32"),
            SqlType::UInt64 => f.write_str("UInt64"),
            SqlType::Int8 => f.write_str("Int8"),
            SqlType::Int16 => f.write_str("Int16"),
            SqlType::Int32 => f.write_str("Int32"),
            SqlType::Int64 => f.write_str("Int64"),
            SqlType::Wide(wide) => f.write_str(wide.name()),
            SqlType::Float32 => f.write_str("Float32"),
            SqlType::Float64 => f.write_str("Float64"),
            SqlType::Bool => f.write_str("Bool"),
            SqlType::String => f.write_str("String"),
            SqlType::Uuid => f.write_str("UUID"),
            SqlType::Date => f.write_str("Date"),
            SqlType::Date32 => f.write_str("Date32"),
            SqlType::Ipv4 => f.write_str("IPv4"),
            SqlType::Ipv6 => f.write_str("IPv6"),
            SqlType::Nothing => f.write_str("Nothing"),
            SqlType::Interval(unit) => write!(f, "Interval{unit}"),
            parametric => parametric.fmt_parametric(f),
        }
    }
}

impl SqlType {
    fn fmt_parametric(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::FixedString(bytes) => write!(f, "FixedString({bytes})"),
            SqlType::DateTime(None) => f.write_str("DateTime"),
            SqlType::DateTime(Some(zone)) => write!(f, "DateTime({})", quote_string(zone)),
            SqlType::DateTime64 { precision, zone: None } => write!(f, "DateTime64({precision})"),
            SqlType::DateTime64 { precision, zone: Some(zone) } => {
                write!(f, "DateTime64({precision}, {})", quote_string(zone))
            }
            SqlType::Decimal { precision, scale } => write!(f, "Decimal({precision}, {scale})"),
            SqlType::Enum8(values) => fmt_enum(f, "Enum8", values),
            SqlType::Enum16(values) => fmt_enum(f, "Enum16", values),
            SqlType::Nullable(inner) => write!(f, "Nullable({inner})"),
            SqlType::LowCardinality(inner) => write!(f, "LowCardinality({inner})"),
            SqlType::Array(element) => write!(f, "Array({element})"),
            SqlType::Map(key, value) => write!(f, "Map({key}, {value})"),
            SqlType::Tuple(elements) => fmt_list(f, "Tuple", elements, TupleElement::fmt),
            // The simple names are `Display`'s.
            _ => Ok(()),
        }
    }
}

impl TupleElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{} ", quote_identifier(name))?;
        }
        write!(f, "{}", self.ty)
    }
}

impl fmt::Display for IntervalUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

fn fmt_enum<T: fmt::Display>(f: &mut fmt::Formatter<'_>, name: &str, values: &[(String, T)]) -> fmt::Result {
    fmt_list(f, name, values, |(label, value), f| write!(f, "{} = {value}", quote_string(label)))
}

fn fmt_list<T>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    items: &[T],
    fmt_item: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{name}(")?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        fmt_item(item, f)?;
    }
    f.write_str(")")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn names_are_clickhouse_names() {
        let zoned = SqlType::DateTime(Some("Europe/Berlin".into()));
        assert_eq!(zoned.to_string(), "DateTime('Europe/Berlin')");
        let nested = SqlType::array_of(SqlType::Nullable(Arc::new(SqlType::Uuid)));
        assert_eq!(nested.to_string(), "Array(Nullable(UUID))");
        let pair = SqlType::tuple_of([SqlType::String, SqlType::Decimal { precision: 9, scale: 2 }]);
        assert_eq!(pair.to_string(), "Tuple(String, Decimal(9, 2))");
    }
}
