//! The settings that ClickHouse has, from files that `scripts/clickhouse-settings` writes.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use basalt_base::{Result, bail};

use super::kind::{Kind, ValueList};
use super::table::{SettingLine, Tier};

/// The settings of a session.
pub(super) static SESSION: LazyLock<KnownSettings> =
    LazyLock::new(|| KnownSettings::parse(include_str!("clickhouse.txt")));

/// The settings of a MergeTree table.
pub(super) static MERGE_TREE: LazyLock<KnownSettings> =
    LazyLock::new(|| KnownSettings::parse(include_str!("clickhouse_merge_tree.txt")));

/// The settings of one file, by name.
pub(super) struct KnownSettings {
    settings: BTreeMap<&'static str, KnownSetting>,
    lists: HashMap<&'static str, ValueList>,
}

/// A setting of ClickHouse.
pub(super) struct KnownSetting {
    pub(super) name: &'static str,
    /// Whether a value other than the default changes no answer, so that it is stored and has no effect.
    pub(super) takes_any_value: bool,
    pub(super) tier: Tier,
    pub(super) type_name: &'static str,
    /// The default as [`KnownSettings::canonical`] prints it.
    pub(super) default: String,
    /// The setting that this name is another name of; or empty.
    pub(super) alias_for: &'static str,
    pub(super) description: &'static str,
}

impl KnownSettings {
    /// Lines that do not have the form of a setting or of a list are left out; a test shows that there is none.
    fn parse(text: &'static str) -> KnownSettings {
        let mut known = KnownSettings { settings: BTreeMap::new(), lists: HashMap::new() };
        for line in text.lines() {
            let fields: Vec<&'static str> = line.split('\t').collect();
            match fields[..] {
                ["=", type_name, code, values] => {
                    known.lists.insert(type_name, ValueList::new(code, values));
                }
                [name, usage, tier, type_name, default, alias_for, description] => {
                    let kind = Kind::of(type_name, None);
                    let default = default.replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\");
                    let setting = KnownSetting {
                        name,
                        takes_any_value: usage == "a",
                        tier: Tier::of_letter(tier),
                        type_name,
                        default: kind.canonical(name, &default).unwrap_or(default),
                        alias_for,
                        description,
                    };
                    known.settings.insert(name, setting);
                }
                _ => {}
            }
        }
        known
    }

    pub(super) fn find(&self, name: &str) -> Option<&KnownSetting> {
        self.settings.get(name)
    }

    /// All settings in the order of their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = &KnownSetting> {
        self.settings.values()
    }

    /// The name itself, or the setting that it is another name of.
    pub(super) fn resolve<'a>(&self, name: &'a str) -> &'a str
    where
        'static: 'a,
    {
        match self.settings.get(name) {
            Some(setting) if !setting.alias_for.is_empty() => setting.alias_for,
            _ => name,
        }
    }

    /// `text` as the type of `setting` prints it; an error if it is no value of that type.
    pub(super) fn canonical(&self, setting: &KnownSetting, text: &str) -> Result<String> {
        Kind::of(setting.type_name, self.lists.get(setting.type_name)).canonical(setting.name, text)
    }

    /// The value of a setting without an effect, as its type prints it. NOT_IMPLEMENTED if it would change answers.
    pub(super) fn accepted(&self, setting: &KnownSetting, text: &str) -> Result<String> {
        let value = self.canonical(setting, text)?;
        if !setting.takes_any_value && value != setting.default {
            let (name, default) = (setting.name, &setting.default);
            bail!(
                NotImplemented,
                "setting `{name}` is not implemented: its value can only be `{default}`, the default"
            );
        }
        Ok(value)
    }
}

impl KnownSetting {
    /// The setting with its default.
    pub(super) fn unchanged_line(&self) -> SettingLine {
        SettingLine {
            name: self.name,
            value: self.default.clone(),
            default: self.default.clone(),
            changed: false,
            type_name: self.type_name,
            description: self.description,
            tier: self.tier,
            alias_for: self.alias_for,
            is_fixed: !self.takes_any_value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(known: &KnownSettings, text: &str) {
        let lines = text.lines().filter(|line| !line.starts_with('=')).count();
        assert_eq!(known.settings.len(), lines, "every line is a setting");
        for setting in known.iter() {
            let value = known.canonical(setting, &setting.default);
            assert_eq!(value.ok().as_ref(), Some(&setting.default), "{}", setting.name);
            let target = known.resolve(setting.name);
            assert!(known.find(target).is_some_and(|found| found.alias_for.is_empty()), "{target}");
        }
    }

    #[test]
    fn every_default_is_a_value_of_its_type() {
        check(&SESSION, include_str!("clickhouse.txt"));
        check(&MERGE_TREE, include_str!("clickhouse_merge_tree.txt"));
    }
}
