//! The printer: every node as text that parses back to the same node.
//!
//! The text is in normal form: keywords in upper case, one space between tokens, parentheses only where precedence
//! requires them, `AS` before every alias. Bytes that are not UTF-8 become escapes. The data of an INSERT prints as
//! it is, lossily where it is not UTF-8.

mod access;
mod create;
mod dictionary;
mod expr;
mod grant;
mod named_collection;
mod partition;
mod query;
mod statement;
mod table;
mod ttl;
mod type_name;

use std::fmt::{self, Display, Formatter};

use basalt_base::types::quote_identifier;

use crate::ast::{Literal, ObjectName, Setting};
use crate::parser::{is_function_word, is_reserved};

/// A name, quoted if it would be misread.
pub(crate) struct Name<'a>(pub(crate) &'a str);

/// A name in backticks, whatever it is.
struct QuotedName<'a>(&'a str);

/// The name of a function, which may be a keyword in more cases than other names.
struct LooseName<'a>(&'a str);

/// A string literal.
struct Text<'a>(&'a [u8]);

/// Items with commas between.
struct Comma<'a, T>(&'a [T]);

/// `words value`, or nothing; the words may be empty.
struct Clause<'a, T>(&'static str, &'a Option<T>);

/// `words a, b`, or nothing for an empty list.
struct ListClause<'a, T>(&'static str, &'a [T]);

/// `name` as SQL writes it: in backticks if it would be misread.
pub fn quote_name(name: &str) -> String {
    Name(name).to_string()
}

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_reserved(self.0) { write!(f, "`{}`", self.0) } else { f.write_str(&quote_identifier(self.0)) }
    }
}

impl Display for QuotedName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match quote_identifier(self.0) {
            bare if bare == self.0 => write!(f, "`{bare}`"),
            quoted => f.write_str(&quoted),
        }
    }
}

impl Display for LooseName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_function_word(self.0) {
            write!(f, "`{}`", self.0)
        } else {
            f.write_str(&quote_identifier(self.0))
        }
    }
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for chunk in self.0.utf8_chunks() {
            for letter in chunk.valid().chars() {
                write_letter(f, letter)?;
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02X}")?;
            }
        }
        f.write_str("'")
    }
}

fn write_letter(f: &mut Formatter<'_>, letter: char) -> fmt::Result {
    match letter {
        '\'' => f.write_str("\\'"),
        '\\' => f.write_str("\\\\"),
        '\n' => f.write_str("\\n"),
        '\t' => f.write_str("\\t"),
        '\r' => f.write_str("\\r"),
        '\0' => f.write_str("\\0"),
        '\u{8}' => f.write_str("\\b"),
        '\u{c}' => f.write_str("\\f"),
        control if control.is_ascii_control() => write!(f, "\\x{:02X}", u32::from(control)),
        other => write!(f, "{other}"),
    }
}

impl<T: Display> Display for Comma<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

impl<T: Display> Display for Clause<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Clause(_, None) => Ok(()),
            Clause("", Some(value)) => write!(f, " {value}"),
            Clause(words, Some(value)) => write!(f, " {words} {value}"),
        }
    }
}

impl<T: Display> Display for ListClause<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ListClause(_, []) => Ok(()),
            ListClause("", items) => write!(f, " {}", Comma(items)),
            ListClause(words, items) => write!(f, " {words} {}", Comma(items)),
        }
    }
}

impl Display for ObjectName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(database) = &self.database {
            // Reserved, but read as a name before a dot; it is in every message.
            match database.as_str() {
                "default" => f.write_str("default.")?,
                other => write!(f, "{}.", Name(other))?,
            }
        }
        Name(&self.name).fmt(f)
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Bool(value) => value.fmt(f),
            Literal::UInt(value) => value.fmt(f),
            Literal::Int(value) => value.fmt(f),
            Literal::Number(text) => f.write_str(text),
            Literal::String(bytes) => Text(bytes).fmt(f),
        }
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", Name(&self.name), self.value)
    }
}

/// ` words`, if the flag is set.
fn flag(f: &mut Formatter<'_>, set: bool, words: &str) -> fmt::Result {
    if set { write!(f, " {words}") } else { Ok(()) }
}

/// The names, quoted, with commas between.
fn names(names: &[String]) -> Vec<Name<'_>> {
    names.iter().map(|name| Name(name)).collect()
}

/// ` FORMAT name`: the name stands alone, so no keyword needs quotes.
fn format_clause(f: &mut Formatter<'_>, name: Option<&String>) -> fmt::Result {
    name.map_or(Ok(()), |name| write!(f, " FORMAT {}", quote_identifier(name)))
}

/// ` AS name` and the like.
fn named_clause(f: &mut Formatter<'_>, words: &str, name: Option<&String>) -> fmt::Result {
    name.map_or(Ok(()), |name| write!(f, " {words} {}", Name(name)))
}

/// ` COMMENT 'text'` and the like.
fn text_clause(f: &mut Formatter<'_>, words: &str, text: Option<&String>) -> fmt::Result {
    text.map_or(Ok(()), |text| write!(f, " {words} {}", Text(text.as_bytes())))
}
