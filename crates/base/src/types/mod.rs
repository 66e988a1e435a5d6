//! The SQL types, their names, and the Arrow type that carries each one through the system.
//!
//! The SQL type decides what a value means; its *carrier* is only the array that holds it. The
//! planner keeps the SQL type of every expression, because several types share a carrier.
//!
//! | SQL type | carrier |
//! |---|---|
//! | `(U)Int8` to `(U)Int64`, `Float32`, `Float64` | the same |
//! | `(U)Int128`, `(U)Int256` | FixedSizeBinary: 16, 32, in the order of the numbers (`wide.rs`) |
//! | `Bool` | Boolean |
//! | `String` | BinaryView: bytes, not text |
//! | `FixedString(n)`, `UUID`, `IPv6` | FixedSizeBinary: `n`, 16 (big-endian, as printed) |
//! | `Date` | UInt16: days since 1970-01-01 |
//! | `Date32` | Int32: days since 1970-01-01 |
//! | `DateTime` | UInt32: seconds since 1970-01-01 00:00:00 UTC |
//! | `DateTime64(p)` | Int64: ticks of `10^-p` s |
//! | `Decimal(p, s)` | Decimal128 up to 38 digits, Decimal256 beyond |
//! | `Enum8`, `Enum16` | Int8, Int16 |
//! | `IPv4` | UInt32 |
//! | `Array(T)` | List of `item` |
//! | `Tuple(...)` | Struct, fields named `1`, `2`, ... |
//! | `Map(K, V)` | List of Struct (`keys`, `values`) |
//! | `Nullable(T)`, `LowCardinality(T)` | that of `T`; `Nullable` only adds the null mask |
//! | `Nothing` | Null |
//!
//! Narrow integers carry dates and times because that is their size on disk and in a hash table.

mod carrier;
mod decimal;
mod name;
mod numeric;
mod place;
mod quote;
mod wide;
mod wide_number;

pub use decimal::{decimal_as_float, power_of_ten};
pub use ethnum::U256;
pub use numeric::{Arithmetic, arithmetic_type, common_type, integer_of};
pub use place::{Place, i256_of, wide_of};
pub use quote::{quote_identifier, quote_string};
pub use wide::Wide;
pub use wide_number::{NoNumber, WideNumber};

use std::sync::Arc;

/// A type of the SQL dialect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SqlType {
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Int8,
    Int16,
    Int32,
    Int64,
    /// An integer of 128 or 256 bits.
    Wide(Wide),
    Float32,
    Float64,
    Bool,
    String,
    /// Exactly this many bytes, padded with zero bytes.
    FixedString(usize),
    Uuid,
    Date,
    Date32,
    /// The zone in which the value is read and printed; `None` is the session's.
    DateTime(Option<Arc<str>>),
    /// `precision` decimal digits of a second, at most 9.
    DateTime64 {
        precision: u8,
        zone: Option<Arc<str>>,
    },
    /// `precision` digits in all (1 to 76), `scale` of them after the point.
    Decimal {
        precision: u8,
        scale: u8,
    },
    Enum8(Arc<[(String, i8)]>),
    Enum16(Arc<[(String, i16)]>),
    Ipv4,
    Ipv6,
    /// The type of `NULL` and of an empty array's elements.
    Nothing,
    Nullable(Arc<SqlType>),
    LowCardinality(Arc<SqlType>),
    Array(Arc<SqlType>),
    Tuple(Arc<[TupleElement]>),
    Map(Arc<SqlType>, Arc<SqlType>),
    /// A span of `unit`; exists in expressions only and cannot be stored.
    Interval(IntervalUnit),
}

/// An element of a `Tuple`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TupleElement {
    pub name: Option<String>,
    pub ty: SqlType,
}

/// The unit of an `INTERVAL`, from the shortest to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntervalUnit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl IntervalUnit {
    /// How many of `other` one of this is; `None` if that is not a whole number or varies.
    pub fn in_units_of(self, other: IntervalUnit) -> Option<i64> {
        let ((own, own_months), (of_other, other_months)) = (self.length(), other.length());
        (own_months == other_months && own % of_other == 0).then_some(own / of_other)
    }

    /// The length in seconds, or in months (`true`), which have no fixed number of seconds.
    fn length(self) -> (i64, bool) {
        match self {
            IntervalUnit::Second => (1, false),
            IntervalUnit::Minute => (60, false),
            IntervalUnit::Hour => (3_600, false),
            IntervalUnit::Day => (86_400, false),
            IntervalUnit::Week => (604_800, false),
            IntervalUnit::Month => (1, true),
            IntervalUnit::Quarter => (3, true),
            IntervalUnit::Year => (12, true),
        }
    }
}

/// The decimal digits that a Decimal128 holds.
pub const DECIMAL128_DIGITS: u8 = 38;
/// The decimal digits that a Decimal256 holds: the limit of `Decimal`.
pub const DECIMAL256_DIGITS: u8 = 76;

impl SqlType {
    /// `Nullable(self)`; the type itself if it is nullable already or cannot be.
    #[must_use]
    pub fn into_nullable(self) -> SqlType {
        match self {
            SqlType::Nullable(_) | SqlType::Array(_) | SqlType::Tuple(_) | SqlType::Map(..) => self,
            SqlType::LowCardinality(inner) => {
                SqlType::LowCardinality(Arc::new(inner.as_ref().clone().into_nullable()))
            }
            other => SqlType::Nullable(Arc::new(other)),
        }
    }

    /// The type without the `LowCardinality` and `Nullable` around it.
    pub fn stripped(&self) -> &SqlType {
        match self {
            SqlType::Nullable(inner) | SqlType::LowCardinality(inner) => inner.stripped(),
            other => other,
        }
    }

    /// The type without the `LowCardinality` around it.
    pub fn full(&self) -> &SqlType {
        match self {
            SqlType::LowCardinality(inner) => inner,
            other => other,
        }
    }

    /// Whether a value of this type can be NULL.
    pub fn accepts_null(&self) -> bool {
        match self {
            SqlType::Nullable(_) | SqlType::Nothing => true,
            SqlType::LowCardinality(inner) => inner.accepts_null(),
            _ => false,
        }
    }

    pub fn array_of(element: SqlType) -> SqlType {
        SqlType::Array(Arc::new(element))
    }

    pub fn tuple_of(elements: impl IntoIterator<Item = SqlType>) -> SqlType {
        SqlType::Tuple(elements.into_iter().map(|ty| TupleElement { name: None, ty }).collect())
    }

    /// Integers of up to 64 bits, which are native numbers.
    pub fn is_integer(&self) -> bool {
        numeric::native_integer(self).is_some()
    }

    /// Integers without a sign of up to 64 bits.
    pub fn is_unsigned(&self) -> bool {
        numeric::native_integer(self).is_some_and(|(signed, _)| !signed)
    }

    /// The type of an integer of 128 or 256 bits; `None` for other types.
    pub fn wide(&self) -> Option<Wide> {
        match self {
            SqlType::Wide(wide) => Some(*wide),
            _ => None,
        }
    }

    /// Integers of any width.
    pub fn is_whole(&self) -> bool {
        numeric::integer(self).is_some()
    }

    /// Whether an integer of any width has a sign; `None` for other types.
    pub fn is_signed_whole(&self) -> Option<bool> {
        numeric::integer(self).map(|(signed, _)| signed)
    }

    pub fn is_float(&self) -> bool {
        matches!(self, SqlType::Float32 | SqlType::Float64)
    }

    /// Native integers, floats, `Bool` and `Decimal`.
    pub fn is_number(&self) -> bool {
        self.is_integer() || self.is_float() || matches!(self, SqlType::Bool | SqlType::Decimal { .. })
    }

    pub fn is_date_or_time(&self) -> bool {
        matches!(self, SqlType::Date | SqlType::Date32 | SqlType::DateTime(_) | SqlType::DateTime64 { .. })
    }

    /// The integer type of an enum's value; `None` for other types.
    pub fn enum_number(&self) -> Option<SqlType> {
        match self {
            SqlType::Enum8(_) => Some(SqlType::Int8),
            SqlType::Enum16(_) => Some(SqlType::Int16),
            _ => None,
        }
    }

    pub fn is_string(&self) -> bool {
        matches!(self, SqlType::String | SqlType::FixedString(_))
    }

    /// The size of a value if all values have the same, otherwise `None`.
    pub fn fixed_bytes(&self) -> Option<usize> {
        Some(match self {
            SqlType::UInt8 | SqlType::Int8 | SqlType::Bool | SqlType::Enum8(_) => 1,
            SqlType::UInt16 | SqlType::Int16 | SqlType::Enum16(_) | SqlType::Date => 2,
            SqlType::UInt32
            | SqlType::Int32
            | SqlType::Float32
            | SqlType::Date32
            | SqlType::DateTime(_)
            | SqlType::Ipv4 => 4,
            SqlType::UInt64
            | SqlType::Int64
            | SqlType::Float64
            | SqlType::DateTime64 { .. }
            | SqlType::Interval(_) => 8,
            SqlType::Uuid | SqlType::Ipv6 => 16,
            SqlType::Wide(wide) => wide.bytes(),
            SqlType::Decimal { precision, .. } if *precision <= DECIMAL128_DIGITS => 16,
            SqlType::Decimal { .. } => 32,
            SqlType::FixedString(bytes) => *bytes,
            SqlType::LowCardinality(inner) => return inner.fixed_bytes(),
            SqlType::String
            | SqlType::Nothing
            | SqlType::Nullable(_)
            | SqlType::Array(_)
            | SqlType::Tuple(_)
            | SqlType::Map(..) => return None,
        })
    }
}
