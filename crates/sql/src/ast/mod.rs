//! The syntax tree: what a statement says, before anything is known about tables or types.
//!
//! A tree is built by the parser and read by the planner and the printer; `parse(print(tree))`
//! gives the same tree back. Names are kept as written; nothing is resolved, folded or reordered.

mod ddl;
mod dictionary;
mod expr;
mod insert;
mod named_collection;
mod nested;
mod query;
mod statement;
mod ttl;
mod walk;

pub use ddl::{
    AlterAction, AlterTable, CodecArg, CodecCall, ColumnDef, ColumnPosition, ColumnProperty, CreateDatabase,
    CreateTable, CreateView, DefaultKind, DetachObject, DropObject, EngineCall, IndexAction, IndexCall,
    IndexDef, ObjectKind, PartitionAction, PartitionRef, RenamePair, TableElement, TableSource,
};
pub use dictionary::{CreateDictionary, DictionaryAttribute, DictionaryLifetime, KeyValue, KeyValueArgument};
pub use expr::{
    BinaryOp, Expr, FunctionCall, Lambda, Literal, SelectItem, TypeArgument, TypeName, UnaryOp, WindowBound,
    WindowFrame, WindowFrameUnit, WindowSpec,
};
pub use insert::{CopyFrom, Insert, InsertSource, InsertTarget};
pub use named_collection::{AlterNamedCollection, CollectionEntry, CreateNamedCollection};
pub use nested::{flatten_actions, flatten_elements};
pub use query::{
    ArrayJoin, Cte, GroupBy, Interpolation, Join, JoinConstraint, JoinKind, JoinStrictness, LimitBy, OrderBy,
    Query, Select, SetExpr, SetOperator, TableExpr, TableFactor, WithFill,
};
pub use statement::{
    CheckTable, Describe, Explain, ExplainKind, Show, ShowFilter, ShowWhat, Statement, SystemCommand,
};
pub use ttl::{TtlAction, TtlElement};

use crate::print::Name;

/// A name as written, without its quotes.
pub type Ident = String;

/// `table` or `database.table`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub database: Option<Ident>,
    pub name: Ident,
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(database) = &self.database {
            // Reserved, but read as a name in front of a dot; it is in every message.
            match database.as_str() {
                "default" => f.write_str("default.")?,
                other => write!(f, "{}.", Name(other))?,
            }
        }
        Name(&self.name).fmt(f)
    }
}

/// `name = value` of a SETTINGS clause or a SET statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub name: Ident,
    pub value: Literal,
}
