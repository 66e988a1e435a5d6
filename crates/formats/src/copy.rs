//! The options of Postgres' `COPY`, translated to our formats and their settings.

use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result, bail};

use crate::settings::FormatSettings;

const OPTIONS: [&str; 7] = ["format", "delimiter", "null", "header", "quote", "escape", "encoding"];

/// The options of a `COPY`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyOptions {
    format: CopyFormat,
    delimiter: Option<u8>,
    null: Option<String>,
    header: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CopyFormat {
    /// TabSeparated: the default.
    #[default]
    Text,
    Csv,
}

/// The direction of a `COPY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// `COPY table FROM`.
    In,
    /// `COPY table TO`.
    Out,
}

impl CopyOptions {
    /// Sets one option; an option without a value, like `HEADER`, has `None`.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        match (name.to_ascii_lowercase().as_str(), value) {
            ("format", Some(format)) => self.format = parse_format(format)?,
            ("csv", None) => self.format = CopyFormat::Csv,
            ("delimiter", Some(delimiter)) => self.delimiter = Some(parse_delimiter(delimiter)?),
            ("null", Some(null)) => self.null = Some(null.to_owned()),
            ("header", value) => self.header = parse_flag(value)?,
            // Options that state the default are accepted, so that existing scripts run.
            ("quote" | "escape", Some("\"")) => {}
            ("encoding", Some(encoding)) if encoding.eq_ignore_ascii_case("utf8") => {}
            ("encoding", Some(encoding)) if encoding.eq_ignore_ascii_case("utf-8") => {}
            ("quote" | "escape" | "encoding", Some(value)) => {
                return Err(Error::not_implemented(format!("COPY with {name} `{value}`")));
            }
            _ => {
                bail!(BadArguments, "COPY has no option `{name}` of that form{}", did_you_mean(name, OPTIONS))
            }
        }
        Ok(())
    }

    /// The format's name, and its settings: `base` with the options applied.
    pub fn resolve(&self, direction: CopyDirection, base: &FormatSettings) -> (&'static str, FormatSettings) {
        let mut settings = FormatSettings { detect_header: false, ..base.clone() };
        match self.format {
            CopyFormat::Text => {
                settings.tsv.delimiter = self.delimiter.unwrap_or(b'\t');
                settings.tsv.null = self.null.clone().unwrap_or_else(|| "\\N".into());
            }
            CopyFormat::Csv => {
                settings.csv.delimiter = self.delimiter.unwrap_or(b',');
                settings.csv.null = self.null.clone().unwrap_or_default();
                // An empty field is NULL only if NULL is written that way.
                settings.csv.empty_as_default = settings.csv.null.is_empty();
            }
        }
        // On input, the names in a header are ignored: fields are in the order of the columns.
        let names = self.header && direction == CopyDirection::Out;
        settings.skip_first_lines = usize::from(self.header && direction == CopyDirection::In);
        let format = match (self.format, names) {
            (CopyFormat::Text, false) => "TabSeparated",
            (CopyFormat::Text, true) => "TabSeparatedWithNames",
            (CopyFormat::Csv, false) => "CSV",
            (CopyFormat::Csv, true) => "CSVWithNames",
        };
        (format, settings)
    }
}

fn parse_format(format: &str) -> Result<CopyFormat> {
    match format.to_ascii_lowercase().as_str() {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "binary" => Err(Error::not_implemented("COPY in binary format")),
        other => {
            let hint = did_you_mean(other, ["text", "csv"]);
            Err(Error::new(ErrorCode::UnknownFormat, format!("COPY has no format `{other}`{hint}")))
        }
    }
}

fn parse_delimiter(delimiter: &str) -> Result<u8> {
    match *delimiter.as_bytes() {
        [byte] if byte.is_ascii_punctuation() && !b"\\\"'".contains(&byte) => Ok(byte),
        [byte @ (b'\t' | b' ')] => Ok(byte),
        _ => bail!(
            BadArguments,
            "the delimiter of COPY is `{delimiter}`, expected one character of punctuation"
        ),
    }
}

fn parse_flag(value: Option<&str>) -> Result<bool> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some("match") => Err(Error::not_implemented("COPY with HEADER MATCH")),
        Some(other) => bail!(BadArguments, "HEADER of COPY is `{other}`, expected true or false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format, and its settings for delimiter, NULL and lines to skip.
    fn check(
        options: &[(&str, Option<&str>)],
        direction: CopyDirection,
    ) -> (&'static str, char, String, usize) {
        let mut copy = CopyOptions::default();
        for &(name, value) in options {
            copy.set(name, value).unwrap();
        }
        let (format, settings) = copy.resolve(direction, &FormatSettings::default());
        let (delimiter, null) = match format.starts_with("CSV") {
            true => (settings.csv.delimiter, settings.csv.null),
            false => (settings.tsv.delimiter, settings.tsv.null),
        };
        (format, char::from(delimiter), null, settings.skip_first_lines)
    }

    #[test]
    fn options_follow_postgres() {
        let (text, csv) = (("FORMAT", Some("text")), ("format", Some("CSV")));
        assert_eq!(check(&[], CopyDirection::In), ("TabSeparated", '\t', "\\N".into(), 0));
        assert_eq!(check(&[csv], CopyDirection::In), ("CSV", ',', String::new(), 0));
        let header = ("header", None);
        assert_eq!(check(&[csv, header], CopyDirection::In), ("CSV", ',', String::new(), 1));
        assert_eq!(check(&[csv, header], CopyDirection::Out), ("CSVWithNames", ',', String::new(), 0));
        let piped = [text, ("delimiter", Some("|")), ("NULL", Some(""))];
        assert_eq!(check(&piped, CopyDirection::Out), ("TabSeparated", '|', String::new(), 0));
        for (name, value) in [("delimiter", "ab"), ("format", "binary"), ("nul", "x"), ("header", "x")] {
            assert!(CopyOptions::default().set(name, Some(value)).is_err(), "{name}");
        }
    }
}
