//! Which dialect a text is written in.

/// The dialect of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    #[default]
    ClickHouse,
    /// For clients of the Postgres interface: see [`crate::postgres`].
    Postgres,
}
