//! CREATE DICTIONARY.

use super::{Expr, FunctionCall, Ident, Literal, ObjectName, Setting, TypeName};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDictionary {
    pub name: ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub attributes: Vec<DictionaryAttribute>,
    pub primary_key: Vec<Ident>,
    /// `SOURCE(CLICKHOUSE(TABLE 't' ..))`.
    pub source: Option<KeyValue>,
    /// `LAYOUT(HASHED(SHARDS 4))`.
    pub layout: Option<KeyValue>,
    pub lifetime: Option<DictionaryLifetime>,
    /// `RANGE(MIN a MAX b)`.
    pub range: Option<(Ident, Ident)>,
    pub settings: Vec<Setting>,
    pub comment: Option<String>,
}

/// Replaces a password where the statement is shown.
const HIDDEN: &[u8] = b"[HIDDEN]";

impl CreateDictionary {
    /// The statement as it may be shown, with passwords hidden.
    pub fn without_secrets(mut self) -> CreateDictionary {
        if let Some(source) = &mut self.source {
            hide_passwords(&mut source.args);
        }
        self
    }
}

fn hide_passwords(args: &mut [(Ident, KeyValueArgument)]) {
    for (name, value) in args {
        match value {
            KeyValueArgument::Nested(args) => hide_passwords(args),
            value if name.eq_ignore_ascii_case("PASSWORD") => {
                *value = KeyValueArgument::Literal(Literal::String(HIDDEN.to_vec()));
            }
            _ => {}
        }
    }
}

/// A key or an attribute in the column list.
#[derive(Clone, Debug, PartialEq)]
pub struct DictionaryAttribute {
    pub name: Ident,
    pub ty: TypeName,
    pub default: Option<Literal>,
    pub expression: Option<Expr>,
    pub hierarchical: bool,
    pub injective: bool,
    pub is_object_id: bool,
    pub bidirectional: bool,
}

/// Seconds; `LIFETIME(n)` is `MIN 0 MAX n` and `LIFETIME(0)` is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DictionaryLifetime {
    pub min_seconds: u64,
    pub max_seconds: u64,
}

/// `NAME(key value key value ..)`: the form of sources, layouts and their nested entries; names are in upper case.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    pub name: Ident,
    pub args: Vec<(Ident, KeyValueArgument)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum KeyValueArgument {
    Literal(Literal),
    /// A bare word: `TABLE rocksDB`.
    Ident(Ident),
    /// `PORT tcpPort()`: CREATE replaces it by its value.
    Call(Box<FunctionCall>),
    /// `STRUCTURE(..)`, `HEADERS(..)`, `CREDENTIALS(user 'a' password 'b')`.
    Nested(Vec<(Ident, KeyValueArgument)>),
}
