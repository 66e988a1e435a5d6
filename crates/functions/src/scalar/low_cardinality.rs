//! Whether a result is `LowCardinality`.

use std::sync::Arc;

use basalt_base::SqlType;

/// The type of a result whose type is `plain` for arguments without `LowCardinality`.
///
/// `args` are the types of the arguments, and whether each is a constant. The result is `LowCardinality` if an
/// argument is, if all arguments but that one are constant, and if the type allows it.
pub fn low_cardinality_of<'a>(
    plain: SqlType,
    args: impl IntoIterator<Item = (&'a SqlType, bool)>,
) -> SqlType {
    let (mut low, mut low_columns, mut other_columns) = (0, 0, 0);
    for (ty, is_constant) in args {
        let is_low = matches!(ty, SqlType::LowCardinality(_));
        low += usize::from(is_low);
        low_columns += usize::from(is_low && !is_constant);
        other_columns += usize::from(!is_low && !is_constant);
    }
    if low == 0 || low_columns > 1 || other_columns > 0 || !can_be_low(&plain) {
        return plain;
    }
    SqlType::LowCardinality(Arc::new(plain))
}

/// Whether a column of this type can be `LowCardinality`.
fn can_be_low(ty: &SqlType) -> bool {
    let plain = match ty {
        SqlType::Nullable(inner) => inner,
        other => other,
    };
    match plain {
        SqlType::Decimal { .. } => false,
        SqlType::Date
        | SqlType::Date32
        | SqlType::DateTime(_)
        | SqlType::Uuid
        | SqlType::Ipv4
        | SqlType::Ipv6 => true,
        other => other.is_number() || other.is_whole() || other.is_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(args: &[(&SqlType, bool)], plain: SqlType, is_low: bool) {
        let found = low_cardinality_of(plain, args.iter().copied());
        assert_eq!(matches!(found, SqlType::LowCardinality(_)), is_low, "{found} of {args:?}");
    }

    #[test]
    fn one_low_column_among_constants_keeps_it() {
        let low = SqlType::LowCardinality(Arc::new(SqlType::String));
        let (column, constant) = (false, true);
        check(&[(&low, column)], SqlType::UInt64, true);
        check(&[(&low, column), (&SqlType::String, constant)], SqlType::String.into_nullable(), true);
        check(&[(&low, constant), (&low, column)], SqlType::String, true);
        check(&[(&low, constant)], SqlType::String, true);
        check(&[(&low, column), (&low, column)], SqlType::String, false);
        check(&[(&low, constant), (&SqlType::String, column)], SqlType::String, false);
        check(&[(&SqlType::String, column)], SqlType::String, false);
        check(&[(&low, column)], SqlType::Decimal { precision: 9, scale: 2 }, false);
        check(&[(&low, column)], SqlType::array_of(SqlType::String), false);
    }
}
