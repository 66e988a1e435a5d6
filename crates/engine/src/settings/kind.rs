//! The types of ClickHouse's settings: what their values look like as text.

use basalt_base::{Error, ErrorCode, Result};

/// Types whose values are lists of the words of [`ValueList`], with commas.
const LISTS: &[&str] = &["JoinAlgorithm", "MySQLDataTypesSupport"];

/// The words that a type of settings has as values, and the error for any other.
pub(super) struct ValueList {
    code: ErrorCode,
    values: Vec<&'static str>,
}

/// How the text of a value is read.
#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    Bool,
    /// A whole number from 0; `auto` is a value if `automatic`, and 0 is none if `nonzero`.
    Unsigned {
        automatic: bool,
        nonzero: bool,
    },
    BoolAuto,
    Signed,
    Float {
        automatic: bool,
    },
    /// `auto` and `0` are the number of processors.
    Threads,
    Char,
    Map,
    Words(&'a ValueList),
    List(&'a ValueList),
    Text,
}

impl ValueList {
    /// `values` with commas; `code` is ClickHouse's number of the error.
    pub(super) fn new(code: &str, values: &'static str) -> ValueList {
        let number = code.parse::<u16>().ok();
        let code = ErrorCode::ALL.iter().find(|code| Some(code.number()) == number);
        ValueList {
            code: code.copied().unwrap_or(ErrorCode::BadArguments),
            values: values.split(',').collect(),
        }
    }

    fn check(&self, name: &str, word: &str, text: &str) -> Result<()> {
        if self.values.contains(&word) {
            return Ok(());
        }
        let values: Vec<String> = self.values.iter().map(|value| format!("'{value}'")).collect();
        Err(wrong_value(self.code, name, &format!("one of {}", values.join(", ")), text))
    }
}

impl<'a> Kind<'a> {
    /// The kind of the type of that name; `list` has its words if it is an enumeration.
    pub(super) fn of(type_name: &str, list: Option<&'a ValueList>) -> Kind<'a> {
        match type_name {
            "Bool" => Kind::Bool,
            "UInt64" | "Milliseconds" => Kind::Unsigned { automatic: false, nonzero: false },
            "UInt64Auto" => Kind::Unsigned { automatic: true, nonzero: false },
            "NonZeroUInt64" => Kind::Unsigned { automatic: false, nonzero: true },
            "BoolAuto" => Kind::BoolAuto,
            "Int64" | "Int32" => Kind::Signed,
            "Float" | "Double" | "Seconds" => Kind::Float { automatic: false },
            "FloatAuto" => Kind::Float { automatic: true },
            "MaxThreads" => Kind::Threads,
            "Char" => Kind::Char,
            "Map" => Kind::Map,
            name => match list {
                Some(list) if LISTS.contains(&name) => Kind::List(list),
                Some(list) => Kind::Words(list),
                None => Kind::Text,
            },
        }
    }

    /// `text` as system.settings shows the value; an error if it is none.
    pub(super) fn canonical(self, name: &str, text: &str) -> Result<String> {
        match self {
            Kind::Bool => bool_text(name, text),
            Kind::BoolAuto if text == "auto" => Ok(text.to_owned()),
            Kind::BoolAuto => bool_text(name, text),
            Kind::Unsigned { automatic: true, .. } | Kind::Float { automatic: true } if text == "auto" => {
                Ok(text.to_owned())
            }
            Kind::Unsigned { nonzero, .. } => match unsigned(name, text)? {
                0 if nonzero => Err(wrong_value(ErrorCode::BadArguments, name, "a number above 0", text)),
                number => Ok(number.to_string()),
            },
            Kind::Signed => match text.parse::<i64>() {
                Ok(number) => Ok(number.to_string()),
                Err(_) => Err(wrong_value(ErrorCode::CannotParseInput, name, "a whole number", text)),
            },
            Kind::Float { .. } => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number.to_string()),
                _ => Err(wrong_value(ErrorCode::CannotParseNumber, name, "a number", text)),
            },
            Kind::Threads if text.starts_with("auto") => Ok("0".to_owned()),
            Kind::Threads => Ok(unsigned(name, text)?.to_string()),
            Kind::Char if text.len() > 1 && text != "\\0" => {
                let code = ErrorCode::SizeOfFixedStringDoesntMatch;
                Err(wrong_value(code, name, "one character", text))
            }
            Kind::Map if text.is_empty() => Ok("{}".to_owned()),
            Kind::Map if !(text.starts_with('{') && text.ends_with('}')) => {
                Err(wrong_value(ErrorCode::CannotParseInput, name, "a map in braces", text))
            }
            Kind::Words(list) => list.check(name, text, text).map(|()| text.to_owned()),
            Kind::List(list) => {
                text.split(',').try_for_each(|word| list.check(name, word.trim(), text))?;
                Ok(text.to_owned())
            }
            Kind::Char | Kind::Map | Kind::Text => Ok(text.to_owned()),
        }
    }
}

/// An error about the value of a setting.
pub(super) fn wrong_value(code: ErrorCode, name: &str, expected: &str, text: &str) -> Error {
    Error::new(code, format!("setting `{name}` takes {expected}, got `{text}`"))
}

fn bool_text(name: &str, text: &str) -> Result<String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" => Ok("1".to_owned()),
        "0" | "false" => Ok("0".to_owned()),
        other => {
            let is_number = other.parse::<f64>().is_ok();
            let code = if is_number { ErrorCode::CannotConvertType } else { ErrorCode::CannotParseBool };
            Err(wrong_value(code, name, "0, 1, true or false", text))
        }
    }
}

/// A whole number, with one of the suffixes k, M, G, T, P, or Ki, Mi, Gi, Ti, Pi.
fn unsigned(name: &str, text: &str) -> Result<u64> {
    let wrong = |code| wrong_value(code, name, "a whole number from 0, such as `10`, `10M` or `10Mi`", text);
    if text.starts_with('-') {
        return Err(wrong(ErrorCode::CannotConvertType));
    }
    if let Some(whole) = exponent(text) {
        return Ok(whole);
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let number: u64 = match digits.parse() {
        Ok(number) => number,
        Err(_) if digits.is_empty() => return Err(wrong(ErrorCode::CannotParseInput)),
        Err(_) => return Err(wrong(ErrorCode::CannotConvertType)),
    };
    let unit = unit(suffix).ok_or_else(|| wrong(ErrorCode::CannotParseInput))?;
    number.checked_mul(unit).ok_or_else(|| wrong(ErrorCode::CannotConvertType))
}

/// `1e9` and the like, where they are whole numbers; true and false as numbers.
fn exponent(text: &str) -> Option<u64> {
    match text {
        "true" => return Some(1),
        "false" => return Some(0),
        _ if !text.contains(['e', 'E']) => return None,
        _ => {}
    }
    let value: f64 = text.parse().ok()?;
    let whole = value >= 0.0 && value <= 2_f64.powi(53) && value.fract() == 0.0;
    whole.then_some(value as u64)
}

fn unit(suffix: &str) -> Option<u64> {
    let suffix = suffix.to_ascii_lowercase();
    let (base, letter) = match suffix.strip_suffix('i') {
        Some(letter) => (1024_u64, letter),
        None => (1000, suffix.as_str()),
    };
    let power = ["k", "m", "g", "t", "p"].iter().position(|unit| *unit == letter);
    match power {
        Some(power) => Some(base.pow(power as u32 + 1)),
        None => suffix.is_empty().then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(type_name: &str, text: &str) -> std::result::Result<String, ErrorCode> {
        let list = ValueList::new("145", "break,throw");
        let list = (type_name == "OverflowMode" || type_name == "JoinAlgorithm").then_some(&list);
        Kind::of(type_name, list).canonical("x", text).map_err(|error| error.code())
    }

    fn shown(text: &str) -> std::result::Result<String, ErrorCode> {
        Ok(text.to_owned())
    }

    #[test]
    fn whole_numbers_have_units() {
        for (text, number) in [("0", "0"), ("10Mi", "10485760"), ("10G", "10000000000"), ("1k", "1000")] {
            assert_eq!(check("UInt64", text), shown(number), "{text}");
        }
        assert_eq!(check("UInt64", "1e9"), shown("1000000000"));
        for text in ["", "x", "5 ", "1.5M", "1GB", "Mi"] {
            assert_eq!(check("UInt64", text), Err(ErrorCode::CannotParseInput), "{text}");
        }
        for text in ["-1", "18446744073709551616", "20000000T"] {
            assert_eq!(check("UInt64", text), Err(ErrorCode::CannotConvertType), "{text}");
        }
        assert_eq!(check("NonZeroUInt64", "0"), Err(ErrorCode::BadArguments));
    }

    #[test]
    fn other_types_are_checked() {
        assert_eq!(check("Bool", "TRUE"), shown("1"));
        assert_eq!(check("Bool", "yes"), Err(ErrorCode::CannotParseBool));
        assert_eq!(check("Bool", "2"), Err(ErrorCode::CannotConvertType));
        assert_eq!(check("BoolAuto", "auto"), shown("auto"));
        assert_eq!(check("Int64", "-5"), shown("-5"));
        assert_eq!(check("Float", "1e-1"), shown("0.1"));
        assert_eq!(check("Seconds", "inf"), Err(ErrorCode::CannotParseNumber));
        assert_eq!(check("MaxThreads", "auto(4)"), shown("0"));
        assert_eq!(check("Char", "ab"), Err(ErrorCode::SizeOfFixedStringDoesntMatch));
        assert_eq!(check("Map", ""), shown("{}"));
        assert_eq!(check("OverflowMode", "any"), Err(ErrorCode::UnknownOverflowMode));
        assert_eq!(check("JoinAlgorithm", "throw,break"), shown("throw,break"));
    }
}
