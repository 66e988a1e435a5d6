//! INSERT and COPY.

use super::{FunctionCall, Ident, ObjectName, Query, Setting};

#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    pub target: InsertTarget,
    /// Empty: every column of the table.
    pub columns: Vec<Ident>,
    pub settings: Vec<Setting>,
    pub source: InsertSource,
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertTarget {
    Table(ObjectName),
    /// `INSERT INTO FUNCTION f(..)`.
    Function(FunctionCall),
}

#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    Query(Box<Query>),
    /// `VALUES` with the text of the rows that follow in the statement, up to its end.
    Values {
        text: Vec<u8>,
    },
    /// `FORMAT name` with the bytes that follow in the statement (may be none: the client sends them apart).
    Format {
        name: Ident,
        bytes: Vec<u8>,
    },
    /// `FROM INFILE 'path' [COMPRESSION 'c'] [FORMAT name]`.
    Infile {
        path: String,
        compression: Option<String>,
        format: Option<Ident>,
    },
}

/// `COPY table [(columns)] FROM {'path' | STDIN} [WITH] (FORMAT csv, DELIMITER ',')`.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyFrom {
    pub table: ObjectName,
    pub columns: Vec<Ident>,
    /// `None`: STDIN, the data that the client sends apart.
    pub path: Option<String>,
    /// Names in lower case; a bare option has the value `true`.
    pub options: Vec<Setting>,
}
