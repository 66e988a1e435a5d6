//! Names, before anything is resolved.

/// A name as written, without its quotes.
pub type Ident = String;

/// `table` or `database.table`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub database: Option<Ident>,
    pub name: Ident,
}
