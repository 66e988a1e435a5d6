//! Parses the values of settings.

use basalt_base::{Error, ErrorCode, Result};

use super::format::EscapingRule;
use super::short_text::ShortText;
use super::text::{DateTimeInput, DateTimeOutput};
use crate::native::REVISION_MAX;

pub(super) fn flag(name: &str, value: &str) -> Result<bool> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        // The caller decides whether the terminal shows colour.
        "auto" => Ok(false),
        other => Err(bad_value(name, other, "0 or 1")),
    }
}

pub(super) fn number(name: &str, value: &str) -> Result<usize> {
    value.parse().map_err(|_| bad_value(name, value, "a whole number"))
}

/// A number from 0 to 1.
pub(super) fn ratio(name: &str, value: &str) -> Result<f64> {
    let parsed = value.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    parsed.ok_or_else(|| bad_value(name, value, "a number from 0 to 1"))
}

/// A revision of ClickHouse's protocol.
pub(super) fn revision(name: &str, value: &str) -> Result<u64> {
    let known = value.parse().ok().filter(|&revision| revision <= REVISION_MAX);
    known.ok_or_else(|| bad_value(name, value, &format!("a revision up to {REVISION_MAX}")))
}

pub(super) fn single_byte(name: &str, value: &str) -> Result<u8> {
    match value.as_bytes() {
        &[byte] if !matches!(byte, b'"' | b'\n' | b'\r') => Ok(byte),
        _ => Err(bad_value(name, value, "one character")),
    }
}

pub(super) fn word(name: &str, value: &str) -> Result<ShortText> {
    ShortText::new(value).map_err(|_| bad_value(name, value, "at most 31 bytes"))
}

pub(super) fn date_time_input(name: &str, value: &str) -> Result<DateTimeInput> {
    match value {
        "basic" => Ok(DateTimeInput::Basic),
        "best_effort" => Ok(DateTimeInput::BestEffort),
        "best_effort_us" => Ok(DateTimeInput::BestEffortUs),
        other => Err(bad_value(name, other, "basic, best_effort or best_effort_us")),
    }
}

pub(super) fn date_time_output(name: &str, value: &str) -> Result<DateTimeOutput> {
    match value {
        "simple" => Ok(DateTimeOutput::Simple),
        "iso" => Ok(DateTimeOutput::Iso),
        "unix_timestamp" => Ok(DateTimeOutput::UnixTimestamp),
        other => Err(bad_value(name, other, "simple, iso or unix_timestamp")),
    }
}

pub(super) fn escaping_rule(name: &str, value: &str) -> Result<EscapingRule> {
    match value {
        "Escaped" => Ok(EscapingRule::Escaped),
        "Quoted" => Ok(EscapingRule::Quoted),
        "CSV" => Ok(EscapingRule::Csv),
        "JSON" => Ok(EscapingRule::Json),
        "Raw" => Ok(EscapingRule::Raw),
        "XML" => Ok(EscapingRule::Xml),
        other => Err(bad_value(name, other, "Escaped, Quoted, CSV, JSON, XML or Raw")),
    }
}

fn bad_value(name: &str, value: &str, expected: &str) -> Error {
    Error::new(ErrorCode::BadArguments, format!("setting `{name}` is `{value}`, expected {expected}"))
}
