//! Integers of 128 and 256 bits rounded to a multiple of a power of ten. Results wrap.

use std::sync::Arc;

use basalt_base::SqlType;
use basalt_base::types::{U256, Wide, WideNumber};

use super::rounding::Mode;
use crate::scalar::whole::{collect_wide, wholes_of};
use crate::scalar::{Bound, Operand};

/// More digits than any number has.
const DIGITS_MAX: u32 = 78;

/// Rounds to `10^dropped`; a number without so many digits stays.
pub(super) fn bind(wide: Wide, dropped: i32, mode: Mode) -> Bound {
    let ty = SqlType::Wide(wide);
    Bound::new(ty.clone(), move |args: &[Operand], _| {
        let Ok(dropped @ 1..) = u32::try_from(dropped) else { return Ok(Arc::clone(&args[0].array)) };
        let step = match dropped {
            ..DIGITS_MAX => U256::from(10_u8).wrapping_pow(dropped),
            _ => U256::ZERO,
        };
        let step =
            Some(WideNumber::of_magnitude(step, false)).filter(|step| !step.is_zero() && wide.holds(*step));
        let wholes = wholes_of(&ty, &args[0].array)?;
        let rounded = |number| step.map_or(U256::ZERO, |step| round(number, step, wide, mode).bits());
        collect_wide(wide, wholes.into_iter().map(rounded))
    })
}

/// The multiple of `step` nearest to `value` in the direction of `mode`, with ClickHouse's overflows: the number is
/// moved by up to a step in its own width, and then truncated.
fn round(value: WideNumber, step: WideNumber, wide: Wide, mode: Mode) -> WideNumber {
    let moved_by = |number: WideNumber, by: U256| wide.wrap(number.bits().wrapping_add(by));
    let rest_of_step = step.bits() - U256::ONE;
    let moved = match mode {
        Mode::Down if value.is_negative() => moved_by(value, rest_of_step.wrapping_neg()),
        Mode::Up if !value.is_negative() => moved_by(value, rest_of_step),
        Mode::Nearest | Mode::Even if value.is_negative() => moved_by(value, step.bits().wrapping_neg()),
        _ => value,
    };
    let cut = |number: WideNumber| number.quotient(step).unwrap_or_default();
    if !matches!(mode, Mode::Nearest | Mode::Even) {
        return wide.wrap(cut(moved).bits().wrapping_mul(step.bits()));
    }
    let half = moved_by(moved, step.bits() / 2);
    let quotient = cut(half);
    let product = quotient.bits().wrapping_mul(step.bits());
    let is_tie = mode == Mode::Even && product == half.bits();
    let one_up = U256::from(u8::from(moved.is_negative()));
    let even = quotient.bits().wrapping_add(one_up) & !U256::ONE;
    wide.wrap(if is_tie { even.wrapping_mul(step.bits()) } else { product })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero_or_to_the_even() {
        let check = |value: i128, mode, expected: i128| {
            let found = round(WideNumber::from(value), WideNumber::from(100), Wide::Int128, mode);
            assert_eq!(found, WideNumber::from(expected), "{value} {mode:?}");
        };
        check(-150, Mode::Nearest, -200);
        check(250, Mode::Even, 200);
        check(-250, Mode::Even, -200);
        check(-150, Mode::Even, -200);
        check(-151, Mode::Down, -200);
        check(-199, Mode::Up, -100);
        check(151, Mode::Up, 200);
        check(-159, Mode::ToZero, -100);
    }
}
