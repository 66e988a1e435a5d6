//! Named collections.

use std::fmt::{self, Display, Formatter};

use basalt_base::types::quote_identifier;

use super::{Comma, Name, flag, names};
use crate::ast::{AlterNamedCollection, CollectionEntry, CreateNamedCollection};

impl Display for CreateNamedCollection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CREATE NAMED COLLECTION")?;
        flag(f, self.if_not_exists, "IF NOT EXISTS")?;
        write!(f, " {} AS {}", Name(&self.name), Comma(&self.entries))
    }
}

impl Display for AlterNamedCollection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("ALTER NAMED COLLECTION")?;
        flag(f, self.if_exists, "IF EXISTS")?;
        write!(f, " {}", Name(&self.name))?;
        if !self.set.is_empty() {
            write!(f, " SET {}", Comma(&self.set))?;
        }
        if !self.delete.is_empty() {
            write!(f, " DELETE {}", Comma(&names(&self.delete)))?;
        }
        Ok(())
    }
}

impl Display for CollectionEntry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // As a parameter's name, it may be a keyword.
        write!(f, "{} = {}", quote_identifier(&self.key), self.value)?;
        flag(f, self.overridable == Some(false), "NOT")?;
        flag(f, self.overridable.is_some(), "OVERRIDABLE")
    }
}
