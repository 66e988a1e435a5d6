//! Numbers of INCRBYFLOAT: C's `long double` of x86, 64 bits of mantissa, which Redis adds and prints with 17 decimals.

const DECIMALS: u128 = 100_000_000_000_000_000;

/// `mantissa * 2^exponent`; the highest bit of the mantissa is set, or it is zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LongDouble {
    is_negative: bool,
    mantissa: u64,
    exponent: i32,
}

impl LongDouble {
    /// The number of a text; `None` if it is none. Infinities are `f64::INFINITY` in [`LongDouble::of`], and refused.
    pub(crate) fn parse(text: &[u8]) -> Option<LongDouble> {
        let value: f64 = crate::number::parse_double(text)?;
        Some(LongDouble::parse_exactly(text).unwrap_or_else(|| LongDouble::of(value)))
    }

    /// The number nearest to a decimal of at most 38 digits, 18 of them after the point; `None` if it has more.
    fn parse_exactly(text: &[u8]) -> Option<LongDouble> {
        let (is_negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let (mut number, mut decimals, mut after_point) = (0_u128, 0_u32, false);
        for &byte in digits {
            match byte {
                b'.' if !after_point => after_point = true,
                b'0'..=b'9' => {
                    number = number.checked_mul(10)?.checked_add(u128::from(byte - b'0'))?;
                    decimals += u32::from(after_point);
                }
                _ => return None,
            }
        }
        if decimals > 18 {
            return None;
        }
        let shift = number.leading_zeros().saturating_sub(1);
        let dividend = number << shift;
        let divisor = 10_u128.pow(decimals);
        let sticky = u128::from(dividend % divisor != 0);
        Some(LongDouble::rounded(is_negative, (dividend / divisor) | sticky, -i32::try_from(shift).ok()?))
    }

    pub(crate) fn of(value: f64) -> LongDouble {
        let bits = value.to_bits();
        let (raw, fraction) = ((bits >> 52 & 0x7ff) as i32, u128::from(bits & ((1 << 52) - 1)));
        let mantissa = if raw == 0 { fraction } else { fraction | 1 << 52 };
        LongDouble::rounded(value.is_sign_negative(), mantissa, raw.max(1) - 1075)
    }

    fn rounded(is_negative: bool, mantissa: u128, exponent: i32) -> LongDouble {
        if mantissa == 0 {
            return LongDouble { is_negative: false, mantissa: 0, exponent: 0 };
        }
        let excess = 64 - mantissa.leading_zeros() as i32;
        if excess <= 0 {
            return LongDouble {
                is_negative,
                mantissa: (mantissa << -excess) as u64,
                exponent: exponent + excess,
            };
        }
        let kept = shifted_half_even(mantissa, excess as u32);
        match u64::try_from(kept) {
            Ok(mantissa) => LongDouble { is_negative, mantissa, exponent: exponent + excess },
            Err(_) => LongDouble { is_negative, mantissa: 1 << 63, exponent: exponent + excess + 1 },
        }
    }

    pub(crate) fn add(self, other: LongDouble) -> LongDouble {
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        if high.mantissa == 0 || low.mantissa == 0 {
            return if self.mantissa == 0 { other } else { self };
        }
        // Both get 62 more bits, so that the lower one loses only what cannot matter.
        let distance = (high.exponent - low.exponent) as u32;
        let (left, mut right) = (i128::from(high.mantissa) << 62, i128::from(low.mantissa) << 62);
        right = match distance {
            0 => right,
            1..=126 => right >> distance | i128::from(right & ((1 << distance) - 1) != 0),
            _ => 1,
        };
        let signed = |value: i128, is_negative: bool| if is_negative { -value } else { value };
        let sum = signed(left, high.is_negative) + signed(right, low.is_negative);
        LongDouble::rounded(sum < 0, sum.unsigned_abs(), high.exponent - 62)
    }

    /// With at most 17 decimals and no zeros at the end.
    pub(crate) fn print(self) -> String {
        let sign = if self.is_negative { "-" } else { "" };
        if self.exponent >= 0 {
            return match self.exponent {
                0..=63 => format!("{sign}{}", u128::from(self.mantissa) << self.exponent),
                _ => format!("{sign}{:.0}", self.mantissa as f64 * 2_f64.powi(self.exponent)),
            };
        }
        let scaled = u128::from(self.mantissa) * DECIMALS;
        let scaled = match -self.exponent {
            shift @ 1..=127 => shifted_half_even(scaled, shift as u32),
            _ => 0,
        };
        let text = format!("{}.{:017}", scaled / DECIMALS, scaled % DECIMALS);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "0" { "0".to_owned() } else { format!("{sign}{text}") }
    }
}

/// `value >> bits`, rounded to the nearest, and to the even one of two.
fn shifted_half_even(value: u128, bits: u32) -> u128 {
    let kept = value >> bits;
    let (rest, half) = (value & ((1 << bits) - 1), 1_u128 << (bits - 1));
    if rest > half || rest == half && kept & 1 == 1 { kept + 1 } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_redis() {
        let sum = |left: &str, right: &str| {
            let parsed = |text: &str| LongDouble::parse(text.as_bytes()).expect("a number");
            parsed(left).add(parsed(right)).print()
        };
        assert_eq!(sum("0.1", "0.2"), "0.3");
        assert_eq!(sum("10.50", "0.1"), "10.6");
        assert_eq!(sum("5.0e3", "2.0e2"), "5200");
        assert_eq!(sum("1", "-1.5"), "-0.5");
        assert_eq!(sum("1", "-1"), "0");
        assert_eq!(sum("1000000000000000000", "1"), "1000000000000000001");
        assert_eq!(sum("1e-30", "0"), "0");
        assert_eq!(sum("123457790.08765432099607006", "0.00000000000001"), "123457790.08765432099608006");
    }
}
