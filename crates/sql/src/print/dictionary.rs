//! CREATE DICTIONARY.

use std::fmt::{self, Display, Formatter};

use basalt_base::types::quote_identifier;

use super::{Clause, Comma, Name, QuotedName, Text, flag, names};
use crate::ast::{CreateDictionary, DictionaryAttribute, DictionaryLifetime, KeyValue, KeyValueArgument};

/// On one line, or (`{:#}`) on several as SHOW CREATE prints it.
impl Display for CreateDictionary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CREATE")?;
        flag(f, self.or_replace, "OR REPLACE")?;
        f.write_str(" DICTIONARY")?;
        flag(f, self.if_not_exists, "IF NOT EXISTS")?;
        write!(f, " {}", self.name)?;
        match self.attributes.as_slice() {
            [] => {}
            attributes if f.alternate() => {
                let lines: Vec<String> = attributes.iter().map(|line| format!("    {line}")).collect();
                write!(f, "\n(\n{}\n)", lines.join(",\n"))?;
            }
            attributes => write!(f, " ({})", Comma(attributes))?,
        }
        let space = if f.alternate() { '\n' } else { ' ' };
        if !self.primary_key.is_empty() {
            write!(f, "{space}PRIMARY KEY {}", Comma(&names(&self.primary_key)))?;
        }
        self.fmt_clauses(f, space)
    }
}

impl CreateDictionary {
    fn fmt_clauses(&self, f: &mut Formatter<'_>, space: char) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{space}SOURCE({source})")?;
        }
        if let Some(DictionaryLifetime { min_seconds, max_seconds }) = self.lifetime {
            write!(f, "{space}LIFETIME(MIN {min_seconds} MAX {max_seconds})")?;
        }
        if let Some(layout) = &self.layout {
            write!(f, "{space}LAYOUT({layout})")?;
        }
        if let Some((low, high)) = &self.range {
            write!(f, "{space}RANGE(MIN {} MAX {})", Name(low), Name(high))?;
        }
        if !self.settings.is_empty() {
            write!(f, "{space}SETTINGS({})", Comma(&self.settings))?;
        }
        if let Some(comment) = &self.comment {
            write!(f, "{space}COMMENT {}", Text(comment.as_bytes()))?;
        }
        Ok(())
    }
}

impl Display for DictionaryAttribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", QuotedName(&self.name), self.ty)?;
        Clause("DEFAULT", &self.default).fmt(f)?;
        Clause("EXPRESSION", &self.expression).fmt(f)?;
        flag(f, self.hierarchical, "HIERARCHICAL")?;
        flag(f, self.bidirectional, "BIDIRECTIONAL")?;
        flag(f, self.injective, "INJECTIVE")?;
        flag(f, self.is_object_id, "IS_OBJECT_ID")
    }
}

impl Display for KeyValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", quote_identifier(&self.name), pairs(&self.args))
    }
}

impl Display for KeyValueArgument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            KeyValueArgument::Literal(literal) => literal.fmt(f),
            KeyValueArgument::Ident(name) => Name(name).fmt(f),
            KeyValueArgument::Call(call) => call.fmt(f),
            KeyValueArgument::Nested(args) => write!(f, "({})", pairs(args)),
        }
    }
}

fn pairs(pairs: &[(String, KeyValueArgument)]) -> String {
    // The name of a parameter may be a keyword, since only a name is possible here.
    let pair = |(key, value): &(String, KeyValueArgument)| format!("{} {value}", quote_identifier(key));
    pairs.iter().map(pair).collect::<Vec<_>>().join(" ")
}
