//! The statements of a session, and who answers them.

use std::ops::Range;

use super::parameter::ParameterValue;
use crate::ast::{Setting, TypeName};

/// One statement of a script, by who answers it.
#[derive(Clone, Debug, PartialEq)]
pub enum PostgresCommand {
    /// For the engine: the first word of its command tag.
    Statement {
        tag: &'static str,
    },
    Begin,
    Commit,
    Rollback,
    /// SAVEPOINT, RELEASE and ROLLBACK TO.
    Savepoint {
        tag: &'static str,
    },
    /// `SET name = value`; `None` is DEFAULT.
    Set {
        name: String,
        value: Option<String>,
    },
    /// `SET` of ClickHouse's form: settings, or values of parameters.
    Settings,
    Reset {
        name: Option<String>,
    },
    Show {
        name: String,
    },
    DiscardAll,
    /// `None`: all of them.
    Deallocate {
        name: Option<String>,
    },
    /// `PREPARE name (types) AS statement`.
    Prepare {
        name: String,
        types: Vec<TypeName>,
        statement: Range<usize>,
    },
    /// `EXECUTE name (values)`.
    Execute {
        name: String,
        values: Vec<ParameterValue>,
    },
    /// LISTEN, UNLISTEN, NOTIFY, LOCK: accepted without an effect.
    Ignored {
        tag: &'static str,
    },
    Copy(Box<PostgresCopy>),
}

/// COPY between a table or a query and the client.
#[derive(Clone, Debug, PartialEq)]
pub struct PostgresCopy {
    pub direction: CopyDirection,
    /// Names in lower case; a bare option has the value `true`.
    pub options: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CopyDirection {
    /// `COPY t (columns) FROM STDIN`: the text of the table with its columns, and a query that selects them.
    In { target: String, query: String },
    /// `COPY .. TO STDOUT`: the query that gives the rows.
    Out { query: String },
}
