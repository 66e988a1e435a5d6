//! CREATE, ALTER, DROP and RENAME of databases, tables and views.

use super::{CodecCall, Expr, Ident, Literal, ObjectName, OrderBy, Query, Setting, TtlElement, TypeName};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    pub name: Ident,
    pub if_not_exists: bool,
    pub engine: Option<EngineCall>,
    pub comment: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub name: ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub temporary: bool,
    pub elements: Vec<TableElement>,
    pub engine: Option<EngineCall>,
    pub partition_by: Option<Expr>,
    /// From the clause, or from `PRIMARY KEY k` in the column list. A tuple is spread: `(a, b)` is two.
    pub primary_key: Option<Vec<Expr>>,
    /// A tuple is spread; `ORDER BY tuple()` is `Some` and empty.
    pub order_by: Option<Vec<OrderBy>>,
    pub sample_by: Option<Expr>,
    pub ttl: Vec<TtlElement>,
    pub settings: Vec<Setting>,
    pub source: Option<TableSource>,
    pub comment: Option<String>,
}

/// Where a CREATE TABLE takes its columns or rows from.
#[derive(Clone, Debug, PartialEq)]
pub enum TableSource {
    /// `AS SELECT ..`.
    Query(Box<Query>),
    /// `EMPTY AS SELECT ..`: its columns, and none of its rows.
    EmptyQuery(Box<Query>),
    /// `AS other`.
    Like(ObjectName),
    /// `AS numbers(10)`.
    Function(Expr),
}

#[expect(clippy::large_enum_variant, reason = "nearly every element is a column")]
#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    Column(ColumnDef),
    Index(IndexDef),
    /// `COLUMN GROUP name (a, b)`: columns that are stored together.
    ColumnGroup {
        name: Ident,
        columns: Vec<Ident>,
    },
    /// `CONSTRAINT name CHECK expr` (or ASSUME: `assume`).
    Constraint {
        name: Ident,
        assume: bool,
        expr: Expr,
    },
    /// `PROJECTION name (SELECT ..)`.
    Projection {
        name: Ident,
        query: Box<Query>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    pub name: Ident,
    /// `None` where only the DEFAULT expression says the type.
    pub ty: Option<TypeName>,
    /// `NULL` (`Some(true)`) or `NOT NULL` after the type.
    pub nullable: Option<bool>,
    /// EPHEMERAL may have no expression.
    pub default: Option<(DefaultKind, Option<Expr>)>,
    pub codec: Vec<CodecCall>,
    pub ttl: Option<Expr>,
    pub comment: Option<String>,
    pub settings: Vec<Setting>,
}

impl ColumnDef {
    /// A column with a name and a type only.
    pub fn new(name: Ident, ty: Option<TypeName>) -> ColumnDef {
        ColumnDef {
            name,
            ty,
            nullable: None,
            default: None,
            codec: Vec::new(),
            ttl: None,
            comment: None,
            settings: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefaultKind {
    Default,
    Materialized,
    Alias,
    Ephemeral,
}

/// The type of an index and its arguments: `bloom_filter(0.01)`.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexCall {
    pub name: Ident,
    pub args: Vec<Literal>,
}

/// `ENGINE = Name(args)`.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineCall {
    pub name: Ident,
    pub args: Vec<Expr>,
}

/// `INDEX name expr [TYPE kind [GRANULARITY n]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    pub name: Ident,
    /// A tuple is several columns.
    pub expr: Expr,
    /// `None`: an ordinary secondary index, from values to rows.
    pub kind: Option<IndexCall>,
    /// Only with a type.
    pub granularity: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub name: ObjectName,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub materialized: bool,
    /// `TO table` of a materialized view.
    pub to: Option<ObjectName>,
    pub columns: Vec<ColumnDef>,
    pub engine: Option<EngineCall>,
    pub order_by: Option<Vec<OrderBy>>,
    pub populate: bool,
    pub query: Box<Query>,
    pub comment: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    Database,
    Table,
    View,
    Dictionary,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropObject {
    pub kind: ObjectKind,
    /// The name of a database is in `name.name`.
    pub names: Vec<ObjectName>,
    pub if_exists: bool,
    pub temporary: bool,
    pub sync: bool,
}

/// `DETACH TABLE|VIEW|DICTIONARY|DATABASE [IF EXISTS] name [PERMANENTLY] [SYNC]`.
#[derive(Clone, Debug, PartialEq)]
pub struct DetachObject {
    pub kind: ObjectKind,
    /// The name of a database is in `name.name`.
    pub name: ObjectName,
    pub if_exists: bool,
    /// It stays detached over a restart.
    pub permanently: bool,
    pub sync: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RenamePair {
    pub from: ObjectName,
    pub to: ObjectName,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    pub name: ObjectName,
    pub actions: Vec<AlterAction>,
    pub settings: Vec<Setting>,
}

/// Which parts an action is about.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionRef {
    /// `PARTITION ALL`.
    All,
    /// `PARTITION ID '202401'`.
    Id(String),
    /// `PARTITION 202401`: the value of the partition key, as a literal or a tuple.
    Value(Expr),
    /// `PART 'all_1_1_0'`.
    Part(String),
}

/// An action on whole partitions or parts.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionAction {
    Drop {
        what: PartitionRef,
    },
    DropDetached {
        what: PartitionRef,
    },
    Detach {
        what: PartitionRef,
    },
    Attach {
        what: PartitionRef,
    },
    /// `ATTACH PARTITION .. FROM table` and `REPLACE PARTITION .. FROM table`.
    TakeFrom {
        what: PartitionRef,
        table: ObjectName,
        replace: bool,
    },
    /// `MOVE PARTITION .. TO TABLE table`.
    MoveTo {
        what: PartitionRef,
        table: ObjectName,
    },
    /// `FREEZE [PARTITION ..] [WITH NAME 'name']`.
    Freeze {
        what: PartitionRef,
        name: Option<String>,
    },
    /// `UNFREEZE [PARTITION ..] WITH NAME 'name'`.
    Unfreeze {
        what: PartitionRef,
        name: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnPosition {
    First,
    After(Ident),
}

/// A property that REMOVE removes from a column. TTL is separate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnProperty {
    Default,
    Materialized,
    Alias,
    Comment,
    Codec,
}

impl ColumnProperty {
    pub const ALL: [ColumnProperty; 5] = [
        ColumnProperty::Default,
        ColumnProperty::Materialized,
        ColumnProperty::Alias,
        ColumnProperty::Comment,
        ColumnProperty::Codec,
    ];

    /// As SQL writes it.
    pub fn word(self) -> &'static str {
        match self {
            ColumnProperty::Default => "DEFAULT",
            ColumnProperty::Materialized => "MATERIALIZED",
            ColumnProperty::Alias => "ALIAS",
            ColumnProperty::Comment => "COMMENT",
            ColumnProperty::Codec => "CODEC",
        }
    }
}

/// A change of a skip index by ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexAction {
    Add {
        index: IndexDef,
        if_not_exists: bool,
        position: Option<ColumnPosition>,
    },
    Drop {
        name: Ident,
        if_exists: bool,
    },
    /// Removes it from parts, not from the table.
    Clear {
        name: Ident,
        if_exists: bool,
        partition: Option<PartitionRef>,
    },
    /// Makes it for parts that were written without it.
    Materialize {
        name: Ident,
        if_exists: bool,
        partition: Option<PartitionRef>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    AddColumn {
        column: ColumnDef,
        if_not_exists: bool,
        position: Option<ColumnPosition>,
    },
    DropColumn {
        name: Ident,
        if_exists: bool,
    },
    ModifyColumn {
        column: ColumnDef,
        if_exists: bool,
        position: Option<ColumnPosition>,
    },
    /// `MODIFY COLUMN name REMOVE property`.
    RemoveProperty {
        name: Ident,
        property: ColumnProperty,
        if_exists: bool,
    },
    RenameColumn {
        from: Ident,
        to: Ident,
        if_exists: bool,
    },
    CommentColumn {
        name: Ident,
        comment: String,
        if_exists: bool,
    },
    ClearColumn {
        name: Ident,
        if_exists: bool,
        partition: Option<PartitionRef>,
    },
    MaterializeColumn {
        name: Ident,
        partition: Option<PartitionRef>,
    },
    Update {
        assignments: Vec<(Ident, Expr)>,
        partition: Option<PartitionRef>,
        filter: Expr,
    },
    Delete {
        partition: Option<PartitionRef>,
        filter: Expr,
    },
    Partition(PartitionAction),
    Index(IndexAction),
    ModifySetting {
        settings: Vec<Setting>,
    },
    ResetSetting {
        names: Vec<Ident>,
    },
    ModifyComment {
        comment: String,
    },
    ModifyOrderBy {
        order_by: Vec<OrderBy>,
    },
    ModifyTtl {
        ttl: Vec<TtlElement>,
    },
    RemoveTtl,
    /// `MODIFY COLUMN name REMOVE TTL`.
    RemoveColumnTtl {
        name: Ident,
        if_exists: bool,
    },
    MaterializeTtl {
        partition: Option<PartitionRef>,
    },
    /// An action that the grammar knows by its first words only; the planner names it in its refusal.
    Other {
        words: String,
    },
}
