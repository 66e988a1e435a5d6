//! Resolves a type as written: aliases, parameters, and which types may be nested in which.
//!
//! ClickHouse's own names (`UInt8`, `Nullable`) are matched exactly, names of other dialects
//! (`varchar`, `BIGINT`) and a few of its own (`date`, `decimal`, `bool`) in any case.

mod aliases;
mod parameters;

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::types::{TupleElement, Wide};
use basalt_base::{Error, Result, SqlType, bail};

use crate::ast::{TypeArgument, TypeName};
use aliases::{CANONICAL_NAMES, canonical_name};
pub use aliases::{NamedType, type_names};
use parameters::Parameters;

/// The type that `written` names. Unknown names fail with UNKNOWN_TYPE and a suggestion; wrong
/// parameters with the code that ClickHouse gives them.
pub fn resolve_type(written: &TypeName) -> Result<SqlType> {
    let Some(name) = canonical_name(&written.name) else {
        let near = did_you_mean(&written.name, CANONICAL_NAMES.iter().copied());
        bail!(UnknownType, "unknown data type `{}`{near}", written.name);
    };
    if let Some(simple) = simple_type(name) {
        // `VARCHAR(20)` and `INT(11)`: the length of other dialects has no effect here.
        let is_alias = name != written.name;
        if !written.args.is_empty() && !is_alias {
            bail!(BadArguments, "data type `{name}` cannot have arguments");
        }
        return Ok(simple);
    }
    parametric_type(name, &Parameters { name, args: &written.args })
}

fn simple_type(name: &str) -> Option<SqlType> {
    Some(match name {
        "UInt8" => SqlType::UInt8,
        "UInt16" => SqlType::UInt16,
        "UInt32" => SqlType::UInt32,
        "UInt64" => SqlType::UInt64,
        "Int8" => SqlType::Int8,
        "Int16" => SqlType::Int16,
        "Int32" => SqlType::Int32,
        "Int64" => SqlType::Int64,
        "Int128" => SqlType::Wide(Wide::Int128),
        "Int256" => SqlType::Wide(Wide::Int256),
        "UInt128" => SqlType::Wide(Wide::UInt128),
        "UInt256" => SqlType::Wide(Wide::UInt256),
        "Float32" => SqlType::Float32,
        "Float64" => SqlType::Float64,
        "Bool" => SqlType::Bool,
        "String" => SqlType::String,
        "UUID" => SqlType::Uuid,
        "Date" => SqlType::Date,
        "Date32" => SqlType::Date32,
        "IPv4" => SqlType::Ipv4,
        "IPv6" => SqlType::Ipv6,
        "Nothing" => SqlType::Nothing,
        interval => return interval_type(interval),
    })
}

/// `IntervalDay` and its like.
fn interval_type(name: &str) -> Option<SqlType> {
    let unit = name.strip_prefix("Interval")?;
    crate::parser::interval_unit(unit).map(SqlType::Interval)
}

fn parametric_type(name: &'static str, parameters: &Parameters<'_>) -> Result<SqlType> {
    match name {
        "FixedString" => parameters.fixed_string(),
        "DateTime" => Ok(SqlType::DateTime(parameters.optional_zone(0)?)),
        "DateTime32" => Ok(SqlType::DateTime(parameters.optional_zone(0)?)),
        "DateTime64" => parameters.date_time64(),
        "Decimal" => parameters.decimal(),
        "Decimal32" => parameters.sized_decimal(9),
        "Decimal64" => parameters.sized_decimal(18),
        "Decimal128" => parameters.sized_decimal(38),
        "Decimal256" => parameters.sized_decimal(76),
        "Enum" | "Enum8" | "Enum16" => parameters.enumeration(),
        "Nullable" => nullable(resolve_type(parameters.single_type()?)?),
        "LowCardinality" => low_cardinality(resolve_type(parameters.single_type()?)?),
        "Array" => Ok(SqlType::array_of(resolve_type(parameters.single_type()?)?)),
        "Tuple" => Ok(SqlType::Tuple(tuple_elements(parameters)?.into())),
        "Nested" => nested(parameters),
        "Map" => map(parameters),
        known => Err(Error::not_implemented(format!("data type {known}"))),
    }
}

fn nullable(inner: SqlType) -> Result<SqlType> {
    match inner {
        SqlType::Nullable(_)
        | SqlType::Array(_)
        | SqlType::Tuple(_)
        | SqlType::Map(..)
        | SqlType::LowCardinality(_) => {
            bail!(IllegalTypeOfArgument, "nested type {inner} cannot be inside Nullable type")
        }
        inner => Ok(SqlType::Nullable(Arc::new(inner))),
    }
}

/// Strings, numbers, dates and their nullable forms; not decimals, enums or containers.
fn low_cardinality(inner: SqlType) -> Result<SqlType> {
    let plain = match &inner {
        SqlType::Nullable(plain) => plain.as_ref(),
        plain => plain,
    };
    let allowed = match plain {
        SqlType::Decimal { .. } | SqlType::DateTime64 { .. } | SqlType::LowCardinality(_) => false,
        plain => {
            plain.is_string()
                || plain.is_number()
                || plain.is_whole()
                || plain.is_date_or_time()
                || matches!(plain, SqlType::Uuid | SqlType::Ipv4 | SqlType::Ipv6 | SqlType::Nothing)
        }
    };
    if !allowed {
        bail!(
            IllegalTypeOfArgument,
            "DataTypeLowCardinality is supported only for numbers, strings, Date or DateTime, but got {inner}"
        );
    }
    Ok(SqlType::LowCardinality(Arc::new(inner)))
}

fn tuple_elements(parameters: &Parameters<'_>) -> Result<Vec<TupleElement>> {
    let elements: Vec<TupleElement> = parameters.args.iter().map(tuple_element).collect::<Result<_>>()?;
    let named_count = elements.iter().filter(|element| element.name.is_some()).count();
    if named_count != 0 && named_count != elements.len() {
        bail!(BadArguments, "names are specified not for all elements of Tuple type");
    }
    for (index, element) in elements.iter().enumerate() {
        if let Some(name) = &element.name
            && elements[..index].iter().any(|earlier| earlier.name.as_ref() == Some(name))
        {
            bail!(DuplicateColumn, "tuple names must be unique, `{name}` is there twice");
        }
    }
    Ok(elements)
}

fn tuple_element(argument: &TypeArgument) -> Result<TupleElement> {
    match argument {
        TypeArgument::Type(ty) => Ok(TupleElement { name: None, ty: resolve_type(ty)? }),
        TypeArgument::Named(name, ty) => Ok(TupleElement { name: Some(name.clone()), ty: resolve_type(ty)? }),
        TypeArgument::Literal(_) | TypeArgument::EnumValue(..) => {
            bail!(BadArguments, "the arguments of a Tuple are types, with or without names")
        }
    }
}

/// `Nested(a T, b U)` is `Array(Tuple(a T, b U))`.
fn nested(parameters: &Parameters<'_>) -> Result<SqlType> {
    let elements = tuple_elements(parameters)?;
    if elements.is_empty() || elements.iter().any(|element| element.name.is_none()) {
        bail!(BadArguments, "data type Nested requires a list of pairs of name and type");
    }
    Ok(SqlType::array_of(SqlType::Tuple(elements.into())))
}

fn map(parameters: &Parameters<'_>) -> Result<SqlType> {
    let [TypeArgument::Type(key), TypeArgument::Type(value)] = parameters.args else {
        bail!(BadArguments, "Map data type requires two arguments: the types of key and value");
    };
    let (key, value) = (resolve_type(key)?, resolve_type(value)?);
    if key.accepts_null() {
        bail!(BadArguments, "Map cannot have a key of type {key}");
    }
    Ok(SqlType::Map(Arc::new(key), Arc::new(value)))
}

#[cfg(test)]
mod tests;
