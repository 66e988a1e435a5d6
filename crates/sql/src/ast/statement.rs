//! Statements.

use super::{
    AccessKind, AccessStatement, AlterNamedCollection, AlterTable, CopyFrom, CreateDatabase,
    CreateDictionary, CreateNamedCollection, CreateTable, CreateView, DetachObject, DropObject, EngineCall,
    Expr, Ident, Insert, ObjectKind, ObjectName, PartitionRef, Query, RenamePair, Setting, TableFactor,
};

/// One statement, as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Query(Box<Query>),
    Insert(Box<Insert>),
    Copy(Box<CopyFrom>),
    CreateDatabase(CreateDatabase),
    CreateTable(Box<CreateTable>),
    CreateView(Box<CreateView>),
    CreateDictionary(Box<CreateDictionary>),
    CreateNamedCollection(CreateNamedCollection),
    AlterNamedCollection(AlterNamedCollection),
    /// `DROP NAMED COLLECTION [IF EXISTS] name`.
    DropNamedCollection {
        name: Ident,
        if_exists: bool,
    },
    Drop(DropObject),
    Detach(DetachObject),
    /// `ATTACH TABLE|VIEW|DICTIONARY|DATABASE [IF NOT EXISTS] name`.
    Attach {
        kind: ObjectKind,
        name: ObjectName,
        if_not_exists: bool,
    },
    Truncate {
        name: ObjectName,
        if_exists: bool,
    },
    Alter(Box<AlterTable>),
    Rename {
        kind: ObjectKind,
        pairs: Vec<RenamePair>,
    },
    Exchange {
        kind: ObjectKind,
        left: ObjectName,
        right: ObjectName,
    },
    /// `DELETE FROM t WHERE .. [SETTINGS ..]`.
    Delete {
        table: ObjectName,
        filter: Expr,
        settings: Vec<Setting>,
    },
    Update(Box<Update>),
    /// `BACKUP TABLE t TO File('name')`.
    Backup {
        table: ObjectName,
        to: EngineCall,
    },
    /// `RESTORE TABLE t [AS other] FROM File('name')`.
    Restore {
        /// The table's name in the backup.
        table: ObjectName,
        /// The name of the table to make, if it is another one.
        new_name: Option<ObjectName>,
        from: EngineCall,
    },
    Optimize {
        table: ObjectName,
        partition: Option<PartitionRef>,
        is_final: bool,
        /// `DEDUPLICATE [BY columns]`; no columns are all of them.
        deduplicate: Option<Vec<Expr>>,
    },
    Use(Ident),
    /// The defaults are names whose values SET takes back: `SET name = DEFAULT`.
    Set {
        changes: Vec<Setting>,
        defaults: Vec<Ident>,
    },
    Show(Show),
    Describe(Describe),
    /// `EXISTS [TABLE|DATABASE|VIEW|DICTIONARY] name`.
    Exists {
        kind: ObjectKind,
        name: ObjectName,
    },
    Explain(Explain),
    System(SystemCommand),
    /// `KILL QUERY WHERE ..`.
    KillQuery {
        filter: Expr,
        mode: KillMode,
    },
    /// `KILL MUTATION WHERE ..`.
    KillMutation {
        filter: Expr,
    },
    Check(CheckTable),
    Access(Box<AccessStatement>),
}

/// What a KILL QUERY does with the queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillMode {
    /// Cancels them.
    Async,
    /// Cancels them and waits for their end.
    Sync,
    /// Lists them.
    Test,
}

/// `UPDATE t SET a = 1, b = b + 1 [IN PARTITION ..] WHERE .. [SETTINGS ..]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub table: ObjectName,
    pub assignments: Vec<(Ident, Expr)>,
    pub partition: Option<PartitionRef>,
    pub filter: Expr,
    pub settings: Vec<Setting>,
}

/// `CHECK TABLE name [PARTITION .. | PART ..] [FORMAT ..] [SETTINGS ..]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckTable {
    pub table: ObjectName,
    pub partition: Option<PartitionRef>,
    pub format: Option<Ident>,
    pub settings: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Show {
    pub what: ShowWhat,
    pub format: Option<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ShowWhat {
    Databases {
        like: Option<ShowFilter>,
    },
    /// `SHOW TABLES [FROM db] [LIKE 'x' | WHERE ..] [LIMIT n]`; also VIEWS and DICTIONARIES by `kind`.
    Tables {
        kind: ObjectKind,
        database: Option<Ident>,
        like: Option<ShowFilter>,
        limit: Option<u64>,
    },
    /// `SHOW FULL TABLES`: names and engines.
    FullTables {
        database: Option<Ident>,
        like: Option<ShowFilter>,
        limit: Option<u64>,
    },
    Create {
        kind: ObjectKind,
        name: ObjectName,
    },
    /// `full` adds collation, comment and privileges.
    Columns {
        table: ObjectName,
        full: bool,
        like: Option<ShowFilter>,
    },
    /// `SHOW INDEX FROM table`: the columns of the primary key, and the skip indexes.
    Indexes {
        table: ObjectName,
        filter: Option<Expr>,
    },
    Clusters,
    /// `SHOW SETTING name`.
    Setting {
        name: Ident,
    },
    ProcessList,
    Settings {
        like: Option<ShowFilter>,
    },
    Functions {
        like: Option<ShowFilter>,
    },
    Engines,
    Access(ShowAccess),
}

/// SHOW statements of access control.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowAccess {
    /// `SHOW USERS`, `SHOW ROLES`, `SHOW PROFILES`, `SHOW POLICIES`, `SHOW QUOTAS`.
    Entities(AccessKind),
    CurrentRoles,
    EnabledRoles,
    /// `SHOW CREATE USER name, ..`; no name is the current user.
    Create {
        kind: AccessKind,
        names: Vec<Ident>,
        tables: Vec<ObjectName>,
    },
    /// `SHOW GRANTS [FOR name, ..]`; no name is the current user.
    Grants {
        names: Vec<Ident>,
    },
    /// `SHOW ACCESS`: the definitions and grants of all entities.
    All,
    Privileges,
}

/// The filter of a SHOW statement.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    Like { pattern: String, case_insensitive: bool, negated: bool },
    Where(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Describe {
    Table {
        name: ObjectName,
        format: Option<Ident>,
    },
    /// A table function or a subquery.
    Factor {
        factor: Box<TableFactor>,
        format: Option<Ident>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    pub kind: ExplainKind,
    /// `indexes = 1` and the like.
    pub settings: Vec<Setting>,
    pub statement: Box<Statement>,
    pub format: Option<Ident>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainKind {
    /// `EXPLAIN` alone.
    Plan,
    Ast,
    Syntax,
    Pipeline,
    Estimate,
    /// `EXPLAIN ANALYZE`.
    Analyze,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SystemCommand {
    ReloadDictionary(ObjectName),
    ReloadDictionaries,
    UnloadDictionary(ObjectName),
    UnloadDictionaries,
    FlushLogs,
    DropCaches {
        which: String,
    },
    StopMerges(Option<ObjectName>),
    StartMerges(Option<ObjectName>),
    StopTtlMerges(Option<ObjectName>),
    StartTtlMerges(Option<ObjectName>),
    /// `SYSTEM RESTORE TABLE`: a table whose files are damaged opens with what can be read.
    RestoreTable(ObjectName),
    Shutdown,
    /// A command that the grammar knows by its words only.
    Other {
        words: String,
    },
}
