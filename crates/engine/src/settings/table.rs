//! The frame of a table of settings: a struct with a field a line, its defaults, and lookups by name.

/// One line of a table, as system tables show it.
#[derive(Clone, Debug)]
pub(crate) struct SettingLine {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) default: String,
    pub(crate) changed: bool,
    pub(crate) type_name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) tier: Tier,
    /// The setting that this is another name of; or empty.
    pub(crate) alias_for: &'static str,
    /// Whether no value but the default is implemented.
    pub(crate) is_fixed: bool,
}

/// ClickHouse's promise about a setting; the numbers are those of its Enum8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    Production = 0,
    Obsolete = 4,
    Experimental = 8,
    Beta = 12,
    PrivatePreview = 16,
}

impl Tier {
    /// The tier of the letter in a file of settings.
    pub(super) fn of_letter(letter: &str) -> Tier {
        match letter {
            "O" => Tier::Obsolete,
            "E" => Tier::Experimental,
            "B" => Tier::Beta,
            "V" => Tier::PrivatePreview,
            _ => Tier::Production,
        }
    }
}

/// Declares a struct of settings from a table of `name: type = default, description;`. Fields after a `+` are no
/// settings, and are empty at first.
macro_rules! settings_table {
    (
        $(#[$doc:meta])* $settings:ident $(+ $($more:ident : $more_type:ty),+)?;
        $($name:ident : $type:ty = $default:expr, $description:literal;)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub(crate) struct $settings {
            $(pub(crate) $name: $type,)+
            $($($more: $more_type,)+)?
        }

        impl Default for $settings {
            fn default() -> $settings {
                $settings { $($name: <$type>::from($default),)+ $($($more: Default::default(),)+)? }
            }
        }

        impl $settings {
            /// Sets the setting called `name` from text; `false` if there is none.
            fn set_known(&mut self, name: &str, text: &str) -> basalt_base::Result<bool> {
                match super::table::raw(name) {
                    $(stringify!($name) => self.$name = super::value::parse_value(name, text)?,)+
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// Every setting of the table, in alphabetical order.
            pub(crate) fn own_lines(&self) -> Vec<super::table::SettingLine> {
                use super::value::SettingValue;

                let default = $settings::default();
                let mut lines = vec![$(super::table::SettingLine {
                    name: super::table::plain(stringify!($name)),
                    value: self.$name.print(),
                    default: default.$name.print(),
                    changed: self.$name != default.$name,
                    type_name: <$type as SettingValue>::TYPE,
                    description: $description,
                    tier: super::table::Tier::Production,
                    alias_for: "",
                    is_fixed: false,
                }),+];
                lines.sort_by_key(|line| line.name);
                lines
            }

            /// The names of all settings, as SQL writes them.
            fn names() -> impl Iterator<Item = &'static str> {
                [$(stringify!($name)),+].into_iter().map(super::table::plain)
            }
        }
    };
}

pub(super) use settings_table;

/// The name as a table writes it: one that is a word of Rust has a prefix.
pub(super) fn raw(name: &str) -> &str {
    if name == "final" { "r#final" } else { name }
}

/// The name as SQL writes it.
pub(super) fn plain(name: &'static str) -> &'static str {
    name.strip_prefix("r#").unwrap_or(name)
}
