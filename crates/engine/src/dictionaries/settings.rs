//! The SETTINGS clause of CREATE DICTIONARY: a few settings of the dictionary, and those of its source.

use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::RegexpFlags;
use basalt_sql::ast::{Literal, Setting};

use crate::settings::{Settings, literal_text};

/// The checked SETTINGS.
#[derive(Clone, Debug, Default)]
pub(super) struct DictionarySettings {
    /// A load without rows fails.
    pub(super) require_nonempty: bool,
    /// A column of the source: a row in which it is not 0 deletes its key.
    pub(super) tombstone: Option<String>,
    /// The loaded version is kept in a file, which answers after a restart.
    pub(super) persist: bool,
    /// Flags of the expressions of a REGEXP_TREE.
    pub(super) regexp_flags: RegexpFlags,
    /// Settings of the queries to the source, and of its format.
    pub(super) query: Settings,
}

impl DictionarySettings {
    pub(super) fn parse(settings: &[Setting]) -> Result<DictionarySettings> {
        let mut parsed = DictionarySettings::default();
        for Setting { name, value } in settings {
            match name.as_str() {
                "require_nonempty" => parsed.require_nonempty = flag(name, value)?,
                "tombstone_column" => parsed.tombstone = Some(literal_text(value)),
                "persist" => parsed.persist = flag(name, value)?,
                "regexp_dict_flag_case_insensitive" => {
                    parsed.regexp_flags.case_insensitive = flag(name, value)?;
                }
                "regexp_dict_flag_dotall" => parsed.regexp_flags.dot_is_all = flag(name, value)?,
                // They choose between ways of ClickHouse; Basalt has one.
                "dictionary_use_async_executor" | "regexp_dict_allow_hyperscan" => {
                    flag(name, value)?;
                }
                _ => parsed.query.set(name, &literal_text(value))?,
            }
        }
        Ok(parsed)
    }
}

fn flag(name: &str, value: &Literal) -> Result<bool> {
    match literal_text(value).as_str() {
        "0" | "false" => Ok(false),
        "1" | "true" => Ok(true),
        other => Err(Error::new(
            ErrorCode::BadArguments,
            format!("setting `{name}` of a dictionary is 0 or 1, got `{other}`"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str, value: u64) -> Result<DictionarySettings> {
        DictionarySettings::parse(&[Setting { name: name.to_owned(), value: Literal::UInt(value) }])
    }

    #[test]
    fn settings_are_of_the_dictionary_or_of_its_queries() {
        let flags = |name| parsed(name, 1).map(|parsed| parsed.regexp_flags).ok();
        let case_insensitive = RegexpFlags { case_insensitive: true, dot_is_all: false };
        assert_eq!(flags("regexp_dict_flag_case_insensitive"), Some(case_insensitive));
        let dot_is_all = RegexpFlags { case_insensitive: false, dot_is_all: true };
        assert_eq!(flags("regexp_dict_flag_dotall"), Some(dot_is_all));
        assert_eq!(flags("dictionary_use_async_executor"), Some(RegexpFlags::default()));
        assert_eq!(parsed("max_threads", 8).map(|parsed| parsed.query.max_threads).ok(), Some(8));
        assert!(parsed("regexp_dict_allow_hyperscan", 2).is_err());
        assert!(parsed("regexp_dict_flag_multiline", 1).is_err());
    }
}
