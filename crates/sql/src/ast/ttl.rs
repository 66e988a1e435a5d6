//! TTL clauses of tables: when rows expire, and what happens to them then.

use super::{CodecCall, Expr, Ident};

/// One element of `TTL a, b ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct TtlElement {
    /// The date or time at which a row expires.
    pub expr: Expr,
    pub action: TtlAction,
}

/// The action on expired rows.
#[derive(Clone, Debug, PartialEq)]
pub enum TtlAction {
    /// `[DELETE] [WHERE filter]`.
    Delete { filter: Option<Expr> },
    /// `TO DISK 'name'`.
    ToDisk { name: String, if_exists: bool },
    /// `TO VOLUME 'name'`.
    ToVolume { name: String, if_exists: bool },
    /// `GROUP BY keys SET column = value, ..`.
    Group { keys: Vec<Expr>, assignments: Vec<(Ident, Expr)> },
    /// `RECOMPRESS CODEC(..)`.
    Recompress { codec: Vec<CodecCall> },
}
