//! Exact conversions of a number to the type of its sums.

use arrow::datatypes::i256;

/// `self` as a `T`, without loss.
pub(super) trait Widen<T>: Copy {
    fn widen(self) -> T;
}

macro_rules! widen {
    ($($from:ty => $to:ty),+ $(,)?) => {
        $(impl Widen<$to> for $from {
            #[inline(always)]
            fn widen(self) -> $to {
                self as $to
            }
        })+
    };
}

widen! {
    u8 => u64, u16 => u64, u32 => u64, u64 => u64,
    i8 => i64, i16 => i64, i32 => i64, i64 => i64,
    f32 => f64, f64 => f64, i128 => i128, i256 => i256,
}

/// The nearest float; statistics are computed in floats.
pub(super) trait ToFloat: Copy {
    fn to_float(self) -> f64;
}

macro_rules! to_float {
    ($($from:ty),+) => {
        $(impl ToFloat for $from {
            #[inline(always)]
            fn to_float(self) -> f64 {
                self as f64
            }
        })+
    };
}

to_float!(u8, u16, u32, u64, i8, i16, i32, i64, i128, f32, f64);

impl ToFloat for i256 {
    fn to_float(self) -> f64 {
        let (low, high) = self.to_parts();
        high as f64 * 2_f64.powi(128) + low as f64
    }
}
