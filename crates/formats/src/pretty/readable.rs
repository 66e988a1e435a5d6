//! Large numbers in words, after the digits: ` -- 1.23 million`.

/// Smaller numbers get no words.
const THRESHOLD: f64 = 1e6;
/// From 10^18 to what 64 bits hold, a number is more likely a hash than a quantity.
const LIKELY_HASHES: std::ops::RangeInclusive<f64> = 1e18..=18_446_744_073_709_551_616.0;
/// Names of the powers of a thousand, beginning with the first.
const NAMES: [&str; 21] = [
    "thousand",
    "million",
    "billion",
    "trillion",
    "quadrillion",
    "quintillion",
    "sextillion",
    "septillion",
    "octillion",
    "nonillion",
    "decillion",
    "undecillion",
    "duodecillion",
    "tredecillion",
    "quattuordecillion",
    "quindecillion",
    "sexdecillion",
    "septendecillion",
    "octodecillion",
    "novemdecillion",
    "vigintillion",
];

/// Appends the number in words if it is large.
pub(crate) fn write_tip(number: f64, out: &mut Vec<u8>) {
    if !number.is_finite() || number.abs() <= THRESHOLD || LIKELY_HASHES.contains(&number.abs()) {
        return;
    }
    let (mut scaled, mut name) = (number / 1e3, 0);
    while scaled.abs() >= 1e3 && name + 1 < NAMES.len() {
        scaled /= 1e3;
        name += 1;
    }
    out.extend_from_slice(format!(" -- {scaled:.2} {}", NAMES[name]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_put_in_words() {
        let tip = |number: f64| {
            let mut out = Vec::new();
            write_tip(number, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(tip(1e6), "");
        assert_eq!(tip(-1_234_567.0), " -- -1.23 million");
        assert_eq!(tip(1.5e20), " -- 150.00 quintillion");
        assert_eq!(tip(1e18), "");
        assert_eq!(tip(u64::MAX as f64), "");
        assert_eq!(tip(1.9e19), " -- 19.00 quintillion");
        assert_eq!(tip(1e30), " -- 1.00 nonillion");
    }
}
