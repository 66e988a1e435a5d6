//! Counts and sizes as text.

/// `1.23 million`
pub(crate) fn count_text(count: f64) -> String {
    scaled(count, &["", " thousand", " million", " billion", " trillion"])
}

/// `1.23 MB`
pub(crate) fn bytes_text(bytes: f64) -> String {
    scaled(bytes, &[" B", " KB", " MB", " GB", " TB"])
}

/// `units` are a thousand times larger each.
fn scaled(mut figure: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while figure >= 1000.0 && unit + 1 < units.len() {
        figure /= 1000.0;
        unit += 1;
    }
    format!("{figure:.2}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_unit_takes_the_rest() {
        assert_eq!(count_text(5e15), "5000.00 trillion");
        assert_eq!(bytes_text(0.0), "0.00 B");
    }
}
