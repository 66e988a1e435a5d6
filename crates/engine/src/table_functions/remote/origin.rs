//! The table of the other server, or the table function that it is asked to call.

/// What is read there.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// A table, with its database, as SQL text.
    Table(String),
    /// The call of a table function, as SQL text.
    Function(String),
}

impl Origin {
    pub(super) fn text(&self) -> &str {
        let (Origin::Table(text) | Origin::Function(text)) = self;
        text
    }
}
