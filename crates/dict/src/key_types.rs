//! Which types the keys and ranges of a definition may have, and the columns of a REGEXP_TREE.

use basalt_base::{Result, SqlType, bail};

/// Whether ranges may have bounds of this type.
pub(crate) fn is_range_type(ty: &SqlType) -> bool {
    ty.is_number() && !matches!(ty, SqlType::Bool)
        || ty.is_date_or_time()
        || matches!(ty, SqlType::Enum8(_) | SqlType::Enum16(_))
}

/// The columns of the source of a REGEXP_TREE, which do not depend on the attributes.
pub(crate) fn regexp_tree_columns() -> [(&'static str, SqlType); 5] {
    let texts = SqlType::array_of(SqlType::String);
    [
        ("id", SqlType::UInt64),
        ("parent_id", SqlType::UInt64),
        ("regexp", SqlType::String),
        ("keys", texts.clone()),
        ("values", texts),
    ]
}

/// The number of arrays around the rings of a polygon dictionary's key; an error if it is no polygon.
pub(crate) fn check_polygon_key(key_types: &[SqlType]) -> Result<usize> {
    match key_types {
        [ty] => ring_depth(ty),
        _ => bail!(BadArguments, "the key of a polygon dictionary is one column"),
    }
}

/// The number of arrays around the rings of a key of this type: 3, or 1 for a polygon without holes.
fn ring_depth(ty: &SqlType) -> Result<usize> {
    let is_point = |ty: &SqlType| match ty {
        SqlType::Tuple(elements) => elements.len() == 2 && elements.iter().all(|e| e.ty == SqlType::Float64),
        SqlType::Array(element) => **element == SqlType::Float64,
        _ => false,
    };
    let (mut inner, mut depth) = (ty, 0);
    while let SqlType::Array(element) = inner {
        if is_point(inner) {
            break;
        }
        (inner, depth) = (element, depth + 1);
    }
    if is_point(inner) && (depth == 3 || depth == 1) {
        return Ok(depth);
    }
    bail!(
        BadArguments,
        "the key of a polygon dictionary is Array(Array(Array(P))) or Array(P), where P is \
         Tuple(Float64, Float64) or Array(Float64), not {ty}"
    )
}
