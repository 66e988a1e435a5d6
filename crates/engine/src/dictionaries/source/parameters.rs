//! The parameters of a SOURCE clause, taken by name. A parameter that is not taken is an error.

use std::cell::Cell;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, Result, bail};
use basalt_sql::ast::{KeyValue, KeyValueArgument, Literal};

/// The parameters of one source; names are case-insensitive.
pub(super) struct Parameters<'a> {
    source: String,
    args: Vec<Parameter<'a>>,
}

struct Parameter<'a> {
    name: String,
    value: &'a KeyValueArgument,
    is_taken: Cell<bool>,
}

impl<'a> Parameters<'a> {
    pub(super) fn of(source: &'a KeyValue) -> Parameters<'a> {
        Parameters::named(source.name.to_ascii_uppercase(), &source.args)
    }

    fn named(source: String, args: &'a [(String, KeyValueArgument)]) -> Parameters<'a> {
        let args = args
            .iter()
            .map(|(name, value)| Parameter {
                name: name.to_ascii_lowercase(),
                value,
                is_taken: Cell::new(false),
            })
            .collect();
        Parameters { source, args }
    }

    /// The name of the source, in capitals.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// A string, a number or a bare word; `None` if it is missing. The last one of several counts.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(KeyValueArgument::Ident(word)) => Ok(Some(word.clone())),
            Some(KeyValueArgument::Literal(Literal::String(bytes))) => {
                Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
            }
            Some(KeyValueArgument::Literal(Literal::UInt(value))) => Ok(Some(value.to_string())),
            Some(KeyValueArgument::Literal(Literal::Bool(value))) => Ok(Some(u8::from(*value).to_string())),
            Some(_) => Err(self.wrong(name, "a string or a number")),
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<String> {
        match self.text(name)? {
            Some(text) => Ok(text),
            None => bail!(
                IncorrectDictionaryDefinition,
                "dictionary source {} needs the parameter `{name}`",
                self.source
            ),
        }
    }

    pub(super) fn number(&self, name: &str, default: u64) -> Result<u64> {
        match self.text(name)? {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| self.wrong(name, "a whole number")),
        }
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.text(name)?.map(|text| text.to_ascii_lowercase()).as_deref() {
            None => Ok(default),
            Some("0" | "false" | "no") => Ok(false),
            Some("1" | "true" | "yes") => Ok(true),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    /// `CREDENTIALS(USER 'a' PASSWORD 'b')`.
    pub(super) fn nested(&self, name: &str) -> Result<Option<Parameters<'a>>> {
        match self.take(name) {
            None => Ok(None),
            Some(KeyValueArgument::Nested(args)) => {
                Ok(Some(Parameters::named(format!("{}.{name}", self.source), args)))
            }
            Some(_) => Err(self.wrong(name, "a list of parameters in parentheses")),
        }
    }

    /// All values of a name that may occur more than once, as lists of parameters.
    pub(super) fn all_nested(&self, name: &str) -> Result<Vec<Parameters<'a>>> {
        let same = self.args.iter().filter(|parameter| parameter.name == name);
        same.map(|parameter| {
            parameter.is_taken.set(true);
            match parameter.value {
                KeyValueArgument::Nested(args) => {
                    Ok(Parameters::named(format!("{}.{name}", self.source), args))
                }
                _ => Err(self.wrong(name, "a list of parameters in parentheses")),
            }
        })
        .collect()
    }

    /// Seconds under either name; `None` if both are missing.
    pub(super) fn seconds(&self, name: &str, other: &str) -> Result<Option<f64>> {
        let Some(text) = (match self.text(name)? {
            Some(text) => Some(text),
            None => self.text(other)?,
        }) else {
            return Ok(None);
        };
        match text.parse::<f64>() {
            Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Ok(Some(seconds)),
            _ => Err(self.wrong(name, "a number of seconds")),
        }
    }

    /// An error if a parameter was not taken; `known` are all valid ones.
    pub(super) fn finish(&self, known: &[&str]) -> Result<()> {
        let Some(unknown) = self.args.iter().find(|parameter| !parameter.is_taken.get()) else {
            return Ok(());
        };
        let near = did_you_mean(&unknown.name, known.iter().copied());
        bail!(
            IncorrectDictionaryDefinition,
            "dictionary source {} has no parameter `{}`{near}",
            self.source,
            unknown.name
        )
    }

    fn take(&self, name: &str) -> Option<&'a KeyValueArgument> {
        let mut found = None;
        for parameter in self.args.iter().filter(|parameter| parameter.name == name) {
            parameter.is_taken.set(true);
            found = Some(parameter.value);
        }
        found
    }

    /// `error`, within the parameters of this source.
    pub(super) fn within(&self, error: Error) -> Error {
        error.within(format!("dictionary source {}", self.source))
    }

    pub(super) fn wrong(&self, name: &str, expected: &str) -> Error {
        let message = format!("parameter `{name}` of dictionary source {} is {expected}", self.source);
        Error::new(basalt_base::ErrorCode::IncorrectDictionaryDefinition, message)
    }
}
