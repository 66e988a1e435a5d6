//! Types that a setting must allow, since they are seldom meant.

use basalt_base::{Result, SqlType, bail};

use super::registry::Settings;

/// Bytes of the longest FixedString that is not suspicious.
const FIXED_STRING_BYTES_MAX: usize = 256;

/// Values of at most this many bytes are hardly larger than the number of a value.
const NUMBER_BYTES_MAX: usize = 8;

/// Fails if the type, or one in it, is suspicious and `settings` do not let it pass.
pub(crate) fn check_suspicious_type(ty: &SqlType, settings: &Settings) -> Result<()> {
    match ty {
        SqlType::LowCardinality(inner) => {
            if !settings.allow_suspicious_low_cardinality_types && is_short_number(inner) {
                bail!(
                    SuspiciousTypeForLowCardinality,
                    "a column of type {ty} takes more room and time than one of {inner}; the setting \
                     `allow_suspicious_low_cardinality_types` lets it pass"
                );
            }
            check_suspicious_type(inner, settings)
        }
        SqlType::FixedString(bytes)
            if *bytes > FIXED_STRING_BYTES_MAX && !settings.allow_suspicious_fixed_string_types =>
        {
            bail!(
                IllegalColumn,
                "a column of type {ty} is suspicious: every value takes all of the bytes; the setting \
                 `allow_suspicious_fixed_string_types` lets it pass"
            )
        }
        SqlType::Nullable(inner) | SqlType::Array(inner) => check_suspicious_type(inner, settings),
        SqlType::Tuple(elements) => {
            elements.iter().try_for_each(|element| check_suspicious_type(&element.ty, settings))
        }
        SqlType::Map(key, value) => {
            check_suspicious_type(key, settings)?;
            check_suspicious_type(value, settings)
        }
        _ => Ok(()),
    }
}

/// Whether all values have the same small number of bytes; those of strings do not.
fn is_short_number(ty: &SqlType) -> bool {
    match ty {
        SqlType::Nullable(inner) => is_short_number(inner),
        SqlType::FixedString(_) => false,
        other => other.wide().is_some() || other.fixed_bytes().is_some_and(|bytes| bytes <= NUMBER_BYTES_MAX),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use basalt_base::ErrorCode;

    use super::*;

    fn check(ty: SqlType) -> Option<ErrorCode> {
        let mut allowing = Settings::default();
        for name in ["allow_suspicious_low_cardinality_types", "allow_suspicious_fixed_string_types"] {
            allowing.set(name, "1").expect("a known setting");
        }
        check_suspicious_type(&ty, &allowing).expect("the settings let it pass");
        check_suspicious_type(&ty, &Settings::default()).err().map(|error| error.code())
    }

    fn low_cardinality(ty: SqlType) -> SqlType {
        SqlType::LowCardinality(Arc::new(ty))
    }

    #[test]
    fn low_cardinality_is_for_strings_and_wide_values() {
        let code = Some(ErrorCode::SuspiciousTypeForLowCardinality);
        for ty in [SqlType::UInt8, SqlType::Date, SqlType::Float64, SqlType::Ipv4] {
            assert_eq!(check(low_cardinality(ty.clone())), code, "{ty}");
            assert_eq!(check(low_cardinality(ty.clone().into_nullable())), code, "{ty}");
            assert_eq!(check(SqlType::array_of(low_cardinality(ty.clone()))), code, "{ty}");
            assert_eq!(check(SqlType::tuple_of([SqlType::String, low_cardinality(ty)])), code);
        }
        for ty in [SqlType::String, SqlType::FixedString(2), SqlType::Uuid, SqlType::String.into_nullable()] {
            assert_eq!(check(low_cardinality(ty.clone())), None, "{ty}");
        }
    }

    #[test]
    fn long_fixed_strings_are_suspicious_wherever_they_are() {
        let (short, long) = (SqlType::FixedString(256), SqlType::FixedString(257));
        let code = Some(ErrorCode::IllegalColumn);
        assert_eq!(check(short.clone()), None);
        assert_eq!(check(long.clone()), code);
        assert_eq!(check(low_cardinality(long.clone().into_nullable())), code);
        assert_eq!(check(SqlType::Map(Arc::new(short), Arc::new(long))), code);
    }
}
