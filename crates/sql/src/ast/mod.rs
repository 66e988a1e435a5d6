//! The syntax tree: what a statement says, before anything is known about tables or types.
//!
//! A tree is built by the parser and read by the planner and the printer; `parse(print(tree))`
//! gives the same tree back. Names are kept as written; nothing is resolved, folded or reordered.

mod access;
mod codec;
mod ddl;
mod dictionary;
mod expr;
mod insert;
mod name;
mod named_collection;
mod nested;
mod query;
mod setting;
mod statement;
mod ttl;
mod walk;

pub use access::{
    ALL_TABLES, AccessKind, AccessStatement, Authentication, CertificateField, DefinitionMode,
    DropAccessEntity, Grant, GrantTarget, Granted, NamePattern, PasswordKind, PasswordText, PrivilegesOn,
    ProfileDefinition, ProfileElement, QuotaDefinition, QuotaInterval, Revoke, RoleDefinition, RoleSet,
    RowPolicyDefinition, SettingConstraint, UserDefinition, UserHost,
};
pub use codec::{CodecArg, CodecCall};
pub use ddl::{
    AlterAction, AlterTable, ColumnDef, ColumnPosition, ColumnProperty, CreateDatabase, CreateTable,
    CreateView, DefaultKind, DetachObject, DropObject, EngineCall, IndexAction, IndexCall, IndexDef,
    ObjectKind, PartitionAction, PartitionRef, RenamePair, TableElement, TableSource,
};
pub use dictionary::{CreateDictionary, DictionaryAttribute, DictionaryLifetime, KeyValue, KeyValueArgument};
pub use expr::{
    BinaryOp, Expr, FunctionCall, Lambda, Literal, SelectItem, TypeArgument, TypeName, UnaryOp, WindowBound,
    WindowFrame, WindowFrameUnit, WindowSpec,
};
pub use insert::{CopyFrom, Insert, InsertSource, InsertTarget};
pub use name::{Ident, ObjectName};
pub use named_collection::{AlterNamedCollection, CollectionEntry, CreateNamedCollection};
pub use nested::{flatten_actions, flatten_elements};
pub use query::{
    ArrayJoin, Cte, GroupBy, Interpolation, IntoOutfile, Join, JoinConstraint, JoinKind, JoinStrictness,
    LimitBy, OrderBy, Query, Select, SetExpr, SetOperator, TableExpr, TableFactor, WithFill,
};
pub use setting::Setting;
pub use statement::{
    CheckTable, Describe, Explain, ExplainKind, KillMode, Show, ShowAccess, ShowFilter, ShowWhat, Statement,
    SystemCommand, Update,
};
pub use ttl::{TtlAction, TtlElement};
