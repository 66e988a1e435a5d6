//! The position of any number among the whole numbers, exactly: how a wide integer compares with a float or a decimal.

use arrow::datatypes::i256;
use ethnum::U256;

use super::WideNumber;

/// The order of the variants, and of their fields, is the order of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Below every number of 256 bits.
    Below,
    /// At the whole number, or (`true`) between it and the next one.
    At(WideNumber, bool),
    /// Above every number of 256 bits.
    Above,
}

impl Place {
    /// `None` for NaN, which has no place.
    pub fn of_float(float: f64) -> Option<Place> {
        let limit = 2_f64.powi(256);
        let floor = float.floor();
        if floor >= limit {
            return Some(Place::Above);
        }
        if floor < -limit / 2.0 {
            return Some(Place::Below);
        }
        WideNumber::of_float(floor).map(|number| Place::At(number, floor != float))
    }

    /// The place of `unscaled * 10^-scale`.
    pub fn of_decimal(unscaled: i256, scale: u8) -> Place {
        let number = wide_of(unscaled);
        let power = WideNumber::of_magnitude(U256::from(10_u8).wrapping_pow(scale.into()), false);
        let (Some(quotient), Some(rest)) = (number.quotient(power), number.remainder(power)) else {
            return Place::At(number, false);
        };
        // The quotient is truncated toward zero; the floor of a negative number is one below it.
        let floor = match rest.is_negative() {
            true => WideNumber::of_magnitude(quotient.magnitude() + U256::ONE, true),
            false => quotient,
        };
        Place::At(floor, !rest.is_zero())
    }
}

/// The number that Arrow's 256 bits hold.
pub fn wide_of(number: i256) -> WideNumber {
    WideNumber::of_bits(U256::from_le_bytes(number.to_le_bytes()), U256::BITS, true)
}

/// The low 256 bits as Arrow's number.
pub fn i256_of(number: WideNumber) -> i256 {
    i256::from_le_bytes(number.bits().to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: i128, has_fraction: bool) -> Place {
        Place::At(WideNumber::from(number), has_fraction)
    }

    #[test]
    fn fractions_lie_between_whole_numbers() {
        assert_eq!(Place::of_float(1.5), Some(at(1, true)));
        assert_eq!(Place::of_float(-1.5), Some(at(-2, true)));
        assert_eq!(Place::of_float(f64::NAN), None);
        assert_eq!(Place::of_float(f64::INFINITY), Some(Place::Above));
        assert_eq!(Place::of_float(-1e77), Some(Place::Below));
        assert_eq!(Place::of_decimal(i256::from_i128(-150), 2), at(-2, true));
        assert_eq!(Place::of_decimal(i256::from_i128(-200), 2), at(-2, false));
        assert!(at(1, false) < at(1, true) && at(1, true) < at(2, false) && at(2, false) < Place::Above);
    }

    #[test]
    fn numbers_of_arrow_are_the_same() {
        for number in [i256::MIN, i256::MINUS_ONE, i256::ZERO, i256::MAX] {
            assert_eq!(i256_of(wide_of(number)), number);
        }
    }
}
