//! The variables of a session of the Postgres interface: what SHOW answers and `current_setting` reads.

use std::collections::BTreeMap;

/// The version of Postgres whose catalog is shown.
const SERVER_VERSION: &str = "15.0";

/// Variables with their values at the start of a session.
const DEFAULTS: &[(&str, &str)] = &[
    ("application_name", ""),
    ("array_nulls", "on"),
    ("block_size", "8192"),
    ("bytea_output", "hex"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    ("DateStyle", "ISO, MDY"),
    ("default_table_access_method", "heap"),
    ("default_tablespace", ""),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "off"),
    ("escape_string_warning", "on"),
    ("extra_float_digits", "1"),
    ("idle_in_transaction_session_timeout", "0"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("is_superuser", "on"),
    ("lc_collate", "C.UTF-8"),
    ("lc_ctype", "C.UTF-8"),
    ("lc_messages", "C.UTF-8"),
    ("lc_monetary", "C.UTF-8"),
    ("lc_numeric", "C.UTF-8"),
    ("lc_time", "C.UTF-8"),
    ("lock_timeout", "0"),
    ("max_identifier_length", "63"),
    ("max_index_keys", "32"),
    ("row_security", "on"),
    ("search_path", "\"$user\", public"),
    ("server_encoding", "UTF8"),
    ("server_version", SERVER_VERSION),
    ("server_version_num", "150000"),
    ("session_authorization", "default"),
    ("standard_conforming_strings", "on"),
    ("statement_timeout", "0"),
    ("synchronous_commit", "on"),
    ("TimeZone", "UTC"),
    ("transaction_isolation", "read committed"),
    ("transaction_read_only", "off"),
];

/// Settings of a session that make queries mean what they mean in Postgres.
pub(crate) const SETTINGS: &[(&str, &str)] = &[("join_use_nulls", "1"), ("union_default_mode", "DISTINCT")];

/// The variables of one session.
#[derive(Clone, Debug)]
pub(crate) struct PostgresSession {
    variables: BTreeMap<String, String>,
}

impl Default for PostgresSession {
    fn default() -> PostgresSession {
        let variables = DEFAULTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        PostgresSession { variables: variables.collect() }
    }
}

impl PostgresSession {
    /// Every variable, by name.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        self.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The value of a variable; its name matches in any case.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(self.spelled(name)?).cloned()
    }

    /// Gives a known variable, or one with a point in its name, a value; `None` is the one from the start. Returns
    /// its name as it is spelled and the value, or `None` if there is no such variable.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Option<(String, String)> {
        let spelled = match self.spelled(name) {
            Some(spelled) => spelled.to_owned(),
            None if name.contains('.') => name.to_owned(),
            None => return None,
        };
        let value = match value {
            Some(value) => value.to_owned(),
            None => {
                DEFAULTS.iter().find(|(known, _)| *known == spelled).map_or("", |(_, value)| value).to_owned()
            }
        };
        self.variables.insert(spelled.clone(), value.clone());
        Some((spelled, value))
    }

    fn spelled(&self, name: &str) -> Option<&str> {
        self.variables.keys().find(|known| known.eq_ignore_ascii_case(name)).map(String::as_str)
    }
}

/// What `version()` returns in such a session.
pub(crate) fn version() -> String {
    format!("PostgreSQL {SERVER_VERSION} (Basalt {})", crate::VERSION)
}
