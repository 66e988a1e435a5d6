//! Types by their names in a header.

use std::sync::Arc;

use basalt_base::types::TupleElement;
use basalt_base::{Error, ErrorCode, Result, SqlType};

/// The type called `name`.
pub(crate) fn named_type(name: &[u8]) -> Result<SqlType> {
    let parsed = basalt_sql::parse_type(name).map_err(|error| {
        let what = format!("`{}` is no type: {}", name.escape_ascii(), Error::from(error).message());
        Error::new(ErrorCode::UnknownType, what)
    })?;
    basalt_sql::resolve_type(&parsed)
}

/// The type without any LowCardinality in it.
pub(crate) fn without_low_cardinality(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::LowCardinality(inner) => without_low_cardinality(inner),
        SqlType::Array(element) => SqlType::array_of(without_low_cardinality(element)),
        SqlType::Map(key, value) => {
            SqlType::Map(Arc::new(without_low_cardinality(key)), Arc::new(without_low_cardinality(value)))
        }
        SqlType::Tuple(elements) => {
            let element = |element: &TupleElement| TupleElement {
                name: element.name.clone(),
                ty: without_low_cardinality(&element.ty),
            };
            SqlType::Tuple(elements.iter().map(element).collect())
        }
        plain => plain.clone(),
    }
}
