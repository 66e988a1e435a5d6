//! Quotients and remainders of a column by one divisor, with multiplications instead of divisions.

use arrow::array::ArrowNativeTypeOp;
use basalt_base::processor;

use super::division::Operation;
use super::reciprocal::Reciprocal;
use crate::scalar::number::Number;

impl Operation {
    /// Divides every number of `left` by a divisor other than 0 and -1.
    pub(super) fn by_constant<N: Number + ArrowNativeTypeOp, O: Number>(
        self,
        left: &[N],
        divisor: N,
    ) -> Vec<O> {
        let Some(reciprocal) = Reciprocal::of(magnitude(divisor)) else {
            return left.iter().map(|&a| self.apply(a, divisor).wrap()).collect();
        };
        processor::run(
            #[inline(always)]
            || {
                let bits = left.iter().fold(0, |bits, &a| bits | magnitude(a));
                match reciprocal.narrow().filter(|_| bits <= u64::from(u32::MAX)) {
                    Some(narrow) => self.by_reciprocal(
                        left,
                        divisor,
                        |a| u64::from(narrow.quotient(magnitude(a) as u32)),
                        |a| u64::from(narrow.remainder(magnitude(a) as u32)),
                    ),
                    None => self.by_reciprocal(
                        left,
                        divisor,
                        |a| reciprocal.quotient(magnitude(a)),
                        |a| reciprocal.remainder(magnitude(a)),
                    ),
                }
            },
        )
    }

    /// Divides magnitudes and applies the signs of the operation.
    #[inline(always)]
    fn by_reciprocal<N: Number + ArrowNativeTypeOp, O: Number>(
        self,
        left: &[N],
        divisor: N,
        quotient: impl Fn(N) -> u64,
        remainder: impl Fn(N) -> u64,
    ) -> Vec<O> {
        let is_negative = |number: N| N::IS_SIGNED && number < N::default();
        let signed = |magnitude: u64, negative: bool| {
            if !N::IS_SIGNED {
                return O::from_u64(magnitude);
            }
            O::from_i64(if negative { (magnitude as i64).wrapping_neg() } else { magnitude as i64 })
        };
        let divisor_is_negative = is_negative(divisor);
        match self {
            Operation::Quotient => {
                left.iter().map(|&a| signed(quotient(a), is_negative(a) != divisor_is_negative)).collect()
            }
            Operation::Remainder => left.iter().map(|&a| signed(remainder(a), is_negative(a))).collect(),
            Operation::PositiveRemainder => left
                .iter()
                .map(|&a| match (remainder(a), is_negative(a)) {
                    (rest, true) if rest > 0 => signed(magnitude(divisor) - rest, false),
                    (rest, _) => signed(rest, false),
                })
                .collect(),
        }
    }

    #[inline(always)]
    pub(super) fn apply<N: Number + ArrowNativeTypeOp>(self, a: N, b: N) -> N {
        match self {
            Operation::Quotient => a.div_wrapping(b),
            Operation::Remainder => a.mod_wrapping(b),
            Operation::PositiveRemainder => {
                let rest = a.mod_wrapping(b);
                let negative = N::IS_SIGNED && rest < N::default();
                if !negative {
                    rest
                } else if b < N::default() {
                    rest.sub_wrapping(b)
                } else {
                    rest.add_wrapping(b)
                }
            }
        }
    }
}

#[inline(always)]
fn magnitude<N: Number>(number: N) -> u64 {
    if N::IS_SIGNED { number.wrap::<i64>().unsigned_abs() } else { number.wrap::<u64>() }
}
