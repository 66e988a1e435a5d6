//! Quoting of names and strings in the SQL text that Basalt prints.

use std::fmt::Write;

/// `name` as it must be written: bare where that reads back the same, in backticks otherwise.
pub fn quote_identifier(name: &str) -> String {
    let mut letters = name.bytes();
    let bare = letters.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if bare {
        return name.to_owned();
    }
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// `text` as a string literal, with ClickHouse's escapes.
pub fn quote_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for letter in text.chars() {
        match letter {
            '\'' => quoted.push_str("\\'"),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '\0' => quoted.push_str("\\0"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            other => {
                // Writing into a String cannot fail.
                let _ = write!(quoted, "{other}");
            }
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_quoted_only_where_needed() {
        assert_eq!(quote_identifier("UserID"), "UserID");
        assert_eq!(quote_identifier("key.names"), "`key.names`");
        assert_eq!(quote_identifier("1a"), "`1a`");
        assert_eq!(quote_identifier("a`b"), "`a\\`b`");
    }

    #[test]
    fn strings_escape_quotes_and_controls() {
        assert_eq!(quote_string("it's\n"), "'it\\'s\\n'");
    }
}
