//! The text of a setting's value, and what it may be.

use basalt_base::{Error, ErrorCode, Result};

/// A type that a setting can have.
pub(crate) trait SettingValue: Clone + PartialEq {
    /// The type's name in `system.settings`.
    const TYPE: &'static str;

    fn parse(text: &str) -> Option<Self>;

    fn print(&self) -> String;
}

impl SettingValue for u64 {
    const TYPE: &'static str = "UInt64";

    fn parse(text: &str) -> Option<u64> {
        match text {
            "true" => Some(1),
            "false" => Some(0),
            _ => text.parse().ok().or_else(|| parse_whole(text)),
        }
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for bool {
    const TYPE: &'static str = "Bool";

    fn parse(text: &str) -> Option<bool> {
        match text {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            _ => None,
        }
    }

    fn print(&self) -> String {
        u8::from(*self).to_string()
    }
}

impl SettingValue for f64 {
    const TYPE: &'static str = "Float";

    fn parse(text: &str) -> Option<f64> {
        text.parse().ok().filter(|value: &f64| value.is_finite())
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for String {
    const TYPE: &'static str = "String";

    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn print(&self) -> String {
        self.clone()
    }
}

/// `1e9` and the like, where they are whole numbers.
fn parse_whole(text: &str) -> Option<u64> {
    let value: f64 = text.parse().ok()?;
    let whole = value >= 0.0 && value <= 2_f64.powi(53) && value.fract() == 0.0;
    whole.then_some(value as u64)
}

/// Parses a value; the error says which values the setting takes.
pub(super) fn parse_value<T: SettingValue>(name: &str, text: &str) -> Result<T> {
    T::parse(text).ok_or_else(|| {
        Error::new(
            ErrorCode::BadArguments,
            format!("setting `{name}` takes a value of type {}, got `{text}`", T::TYPE),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_have_an_exponent() {
        assert_eq!(u64::parse("1e9"), Some(1_000_000_000));
        assert_eq!(u64::parse("1.5"), None);
        assert_eq!(u64::parse("-1"), None);
    }
}
