//! Named collections: CREATE, ALTER and DROP.

use super::{Ident, Literal};

/// Replaces the value of a key where a statement is shown.
const HIDDEN: &[u8] = b"[HIDDEN]";

/// `CREATE NAMED COLLECTION [IF NOT EXISTS] name AS key = value [[NOT] OVERRIDABLE], ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateNamedCollection {
    pub name: Ident,
    pub if_not_exists: bool,
    pub entries: Vec<CollectionEntry>,
}

/// `ALTER NAMED COLLECTION [IF EXISTS] name [SET key = value [[NOT] OVERRIDABLE], ..] [DELETE key, ..]`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterNamedCollection {
    pub name: Ident,
    pub if_exists: bool,
    pub set: Vec<CollectionEntry>,
    pub delete: Vec<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CollectionEntry {
    pub key: Ident,
    pub value: Literal,
    /// Whether a user of the collection may override the value; `None` if the statement does not say.
    pub overridable: Option<bool>,
}

impl CreateNamedCollection {
    /// The statement as it may be shown, with all values hidden.
    pub fn without_secrets(mut self) -> CreateNamedCollection {
        hide(&mut self.entries);
        self
    }
}

impl AlterNamedCollection {
    /// Like [`CreateNamedCollection::without_secrets`].
    pub fn without_secrets(mut self) -> AlterNamedCollection {
        hide(&mut self.set);
        self
    }
}

fn hide(entries: &mut [CollectionEntry]) {
    for entry in entries {
        entry.value = Literal::String(HIDDEN.to_vec());
    }
}
