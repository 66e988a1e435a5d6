//! Large numbers in words, beside the digits: ` -- 1.23 million`.

/// Smaller numbers are read easily enough.
const THRESHOLD: f64 = 1e6;
/// Names of the powers of a thousand, from the first on.
const NAMES: [&str; 10] = [
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
];

/// Appends the number in words if it is large.
pub(crate) fn write_tip(number: f64, out: &mut Vec<u8>) {
    if !number.is_finite() || number.abs() <= THRESHOLD {
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
        assert_eq!(tip(1e30), " -- 1.00 nonillion");
    }
}
