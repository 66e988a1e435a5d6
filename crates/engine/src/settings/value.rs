//! The text of a setting's value, and what it may be.

use basalt_base::{ErrorCode, Result};

use super::kind::{Kind, wrong_value};

/// A type that a setting can have.
pub(crate) trait SettingValue: Clone + PartialEq {
    /// The type's name in `system.settings`.
    const TYPE: &'static str;

    /// The value of a text in the form of [`Kind::canonical`].
    fn parse(text: &str) -> Option<Self>;

    fn print(&self) -> String;
}

impl SettingValue for u64 {
    const TYPE: &'static str = "UInt64";

    fn parse(text: &str) -> Option<u64> {
        text.parse().ok()
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for bool {
    const TYPE: &'static str = "Bool";

    fn parse(text: &str) -> Option<bool> {
        match text {
            "1" => Some(true),
            "0" => Some(false),
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
        text.parse().ok()
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

/// Parses a value; the error says which values the setting takes.
pub(super) fn parse_value<T: SettingValue>(name: &str, text: &str) -> Result<T> {
    let canonical = Kind::of(T::TYPE, None).canonical(name, text)?;
    T::parse(&canonical).ok_or_else(|| {
        wrong_value(ErrorCode::BadArguments, name, &format!("a value of type {}", T::TYPE), text)
    })
}
