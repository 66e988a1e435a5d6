//! Statements.

use std::fmt::{self, Display, Formatter};

use basalt_base::types::quote_identifier;

use super::create::Assignments;
use super::query::quoted;
use super::{Clause, Comma, ListClause, Name, Text, flag, format_clause, named_clause, names, text_clause};
use crate::ast::{
    CopyFrom, Describe, DetachObject, DropObject, Explain, ExplainKind, Insert, InsertSource, InsertTarget,
    KillMode, ObjectKind, Show, ShowFilter, ShowWhat, Statement, SystemCommand, Update,
};

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Query(query) => query.fmt(f),
            Statement::Insert(insert) => insert.fmt(f),
            Statement::Copy(copy) => copy.fmt(f),
            Statement::CreateDatabase(database) => database.fmt(f),
            Statement::CreateTable(table) => table.fmt(f),
            Statement::CreateView(view) => view.fmt(f),
            Statement::CreateDictionary(dictionary) => dictionary.fmt(f),
            Statement::CreateNamedCollection(create) => create.fmt(f),
            Statement::AlterNamedCollection(alter) => alter.fmt(f),
            Statement::Alter(alter) => alter.fmt(f),
            Statement::Show(show) => show.fmt(f),
            Statement::Describe(describe) => describe.fmt(f),
            Statement::Explain(explain) => explain.fmt(f),
            Statement::System(command) => write!(f, "SYSTEM {command}"),
            Statement::Access(statement) => statement.fmt(f),
            Statement::Drop(drop) => write!(f, "DROP{drop}"),
            Statement::Detach(detach) => detach.fmt(f),
            other => fmt_short(f, other),
        }
    }
}

/// Statements of one line.
fn fmt_short(f: &mut Formatter<'_>, statement: &Statement) -> fmt::Result {
    match statement {
        Statement::Attach { kind, name, if_not_exists } => {
            write!(f, "ATTACH {kind}")?;
            flag(f, *if_not_exists, "IF NOT EXISTS")?;
            write!(f, " {name}")
        }
        Statement::DropNamedCollection { name, if_exists } => {
            f.write_str("DROP NAMED COLLECTION")?;
            flag(f, *if_exists, "IF EXISTS")?;
            write!(f, " {}", Name(name))
        }
        Statement::Truncate { name, if_exists } => {
            f.write_str("TRUNCATE TABLE")?;
            flag(f, *if_exists, "IF EXISTS")?;
            write!(f, " {name}")
        }
        Statement::Rename { kind, pairs } => {
            let pairs: Vec<String> =
                pairs.iter().map(|pair| format!("{} TO {}", pair.from, pair.to)).collect();
            write!(f, "RENAME {kind} {}", Comma(&pairs))
        }
        Statement::Exchange { kind, left, right } => {
            let kind = if *kind == ObjectKind::Dictionary { "DICTIONARIES" } else { "TABLES" };
            write!(f, "EXCHANGE {kind} {left} AND {right}")
        }
        Statement::Delete { table, filter, settings } => {
            write!(f, "DELETE FROM {table} WHERE {filter}{}", ListClause("SETTINGS", settings))
        }
        Statement::Update(update) => {
            let Update { table, assignments, partition, filter, settings } = update.as_ref();
            let (place, settings) = (Clause("IN", partition), ListClause("SETTINGS", settings));
            write!(f, "UPDATE {table} SET {}{place} WHERE {filter}{settings}", Assignments(assignments))
        }
        Statement::Backup { table, to } => write!(f, "BACKUP TABLE {table} TO {to}"),
        Statement::Restore { table, new_name, from } => {
            write!(f, "RESTORE TABLE {table}{} FROM {from}", Clause("AS", new_name))
        }
        Statement::Optimize { table, partition, is_final, deduplicate } => {
            write!(f, "OPTIMIZE TABLE {table}")?;
            if let Some(partition) = partition {
                write!(f, " {partition}")?;
            }
            flag(f, *is_final, "FINAL")?;
            match deduplicate.as_deref() {
                None => Ok(()),
                Some([]) => f.write_str(" DEDUPLICATE"),
                Some(columns) => write!(f, " DEDUPLICATE BY {}", Comma(columns)),
            }
        }
        Statement::Use(name) => write!(f, "USE {}", Name(name)),
        Statement::Set { changes, defaults } => {
            let defaults = defaults.iter().map(|name| format!("{} = DEFAULT", Name(name)));
            let parts: Vec<String> = changes.iter().map(ToString::to_string).chain(defaults).collect();
            write!(f, "SET {}", parts.join(", "))
        }
        Statement::Exists { kind, name } => write!(f, "EXISTS {kind} {name}"),
        other => fmt_control(f, other),
    }
}

/// Statements that end work, or verify a table.
fn fmt_control(f: &mut Formatter<'_>, statement: &Statement) -> fmt::Result {
    match statement {
        Statement::KillMutation { filter } => write!(f, "KILL MUTATION WHERE {filter}"),
        Statement::KillQuery { filter, mode } => {
            let mode = match mode {
                KillMode::Async => "",
                KillMode::Sync => " SYNC",
                KillMode::Test => " TEST",
            };
            write!(f, "KILL QUERY WHERE {filter}{mode}")
        }
        Statement::Check(check) => {
            write!(f, "CHECK TABLE {}", check.table)?;
            if let Some(partition) = &check.partition {
                write!(f, " {partition}")?;
            }
            format_clause(f, check.format.as_ref())?;
            ListClause("SETTINGS", &check.settings).fmt(f)
        }
        _ => Ok(()),
    }
}

impl Display for ObjectKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ObjectKind::Database => "DATABASE",
            ObjectKind::Table => "TABLE",
            ObjectKind::View => "VIEW",
            ObjectKind::Dictionary => "DICTIONARY",
        })
    }
}

/// The statement without its verb.
impl Display for DropObject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        flag(f, self.temporary, "TEMPORARY")?;
        write!(f, " {}", self.kind)?;
        flag(f, self.if_exists, "IF EXISTS")?;
        write!(f, " {}", Comma(&self.names))?;
        flag(f, self.sync, "SYNC")
    }
}

impl Display for DetachObject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DETACH {}", self.kind)?;
        flag(f, self.if_exists, "IF EXISTS")?;
        write!(f, " {}", self.name)?;
        flag(f, self.permanently, "PERMANENTLY")?;
        flag(f, self.sync, "SYNC")
    }
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("INSERT INTO ")?;
        match &self.target {
            InsertTarget::Table(name) => name.fmt(f)?,
            InsertTarget::Function(call) => write!(f, "FUNCTION {call}")?,
        }
        if !self.columns.is_empty() {
            write!(f, " ({})", Comma(&names(&self.columns)))?;
        }
        ListClause("SETTINGS", &self.settings).fmt(f)?;
        match &self.source {
            InsertSource::Query(query) => write!(f, " {query}"),
            InsertSource::Values { text } => write!(f, " VALUES {}", String::from_utf8_lossy(text)),
            InsertSource::Format { name, bytes } if bytes.is_empty() => {
                write!(f, " FORMAT {}", quote_identifier(name))
            }
            InsertSource::Format { name, bytes } => {
                write!(f, " FORMAT {}\n{}", quote_identifier(name), String::from_utf8_lossy(bytes))
            }
            InsertSource::Infile { path, compression, format } => {
                write!(f, " FROM INFILE {}", quoted(path))?;
                text_clause(f, "COMPRESSION", compression.as_ref())?;
                format_clause(f, format.as_ref())
            }
        }
    }
}

impl Display for CopyFrom {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "COPY {}", self.table)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", Comma(&names(&self.columns)))?;
        }
        match &self.path {
            Some(path) => write!(f, " FROM {}", quoted(path))?,
            None => f.write_str(" FROM STDIN")?,
        }
        if self.options.is_empty() {
            return Ok(());
        }
        let options: Vec<String> =
            self.options.iter().map(|option| format!("{} {}", Name(&option.name), option.value)).collect();
        write!(f, " WITH ({})", Comma(&options))
    }
}

impl Display for Show {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "SHOW {}", self.what)?;
        format_clause(f, self.format.as_ref())
    }
}

impl Display for ShowWhat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ShowWhat::Databases { like } => write!(f, "DATABASES{}", Clause("", like)),
            ShowWhat::Tables { kind, database, like, limit } => {
                f.write_str(match kind {
                    ObjectKind::View => "VIEWS",
                    ObjectKind::Dictionary => "DICTIONARIES",
                    ObjectKind::Table | ObjectKind::Database => "TABLES",
                })?;
                named_clause(f, "FROM", database.as_ref())?;
                write!(f, "{}{}", Clause("", like), Clause("LIMIT", limit))
            }
            ShowWhat::Create { kind, name } => write!(f, "CREATE {kind} {name}"),
            ShowWhat::FullTables { database, like, limit } => {
                f.write_str("FULL TABLES")?;
                named_clause(f, "FROM", database.as_ref())?;
                write!(f, "{}{}", Clause("", like), Clause("LIMIT", limit))
            }
            ShowWhat::Columns { table, full, like } => {
                let full = if *full { "FULL " } else { "" };
                write!(f, "{full}COLUMNS FROM {table}{}", Clause("", like))
            }
            ShowWhat::Indexes { table, filter } => {
                write!(f, "INDEX FROM {table}{}", Clause("WHERE", filter))
            }
            ShowWhat::Clusters => f.write_str("CLUSTERS"),
            ShowWhat::Setting { name } => write!(f, "SETTING {}", Name(name)),
            ShowWhat::ProcessList => f.write_str("PROCESSLIST"),
            ShowWhat::Settings { like } => write!(f, "SETTINGS{}", Clause("", like)),
            ShowWhat::Functions { like } => write!(f, "FUNCTIONS{}", Clause("", like)),
            ShowWhat::Access(show) => show.fmt(f),
            ShowWhat::Engines => f.write_str("ENGINES"),
        }
    }
}

impl Display for ShowFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ShowFilter::Where(filter) => write!(f, "WHERE {filter}"),
            ShowFilter::Like { pattern, case_insensitive, negated } => {
                let not = if *negated { "NOT " } else { "" };
                let like = if *case_insensitive { "ILIKE" } else { "LIKE" };
                write!(f, "{not}{like} {}", Text(pattern.as_bytes()))
            }
        }
    }
}

impl Display for Describe {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let format = match self {
            Describe::Table { name, format } => {
                write!(f, "DESCRIBE TABLE {name}")?;
                format
            }
            Describe::Factor { factor, format } => {
                write!(f, "DESCRIBE TABLE {factor}")?;
                format
            }
        };
        format_clause(f, format.as_ref())
    }
}

impl Display for Explain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("EXPLAIN")?;
        f.write_str(match self.kind {
            ExplainKind::Plan => "",
            ExplainKind::Ast => " AST",
            ExplainKind::Syntax => " SYNTAX",
            ExplainKind::Pipeline => " PIPELINE",
            ExplainKind::Estimate => " ESTIMATE",
            ExplainKind::Analyze => " ANALYZE",
        })?;
        ListClause("", &self.settings).fmt(f)?;
        write!(f, " {}", self.statement)?;
        format_clause(f, self.format.as_ref())
    }
}

impl Display for SystemCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SystemCommand::ReloadDictionary(name) => write!(f, "RELOAD DICTIONARY {name}"),
            SystemCommand::ReloadDictionaries => f.write_str("RELOAD DICTIONARIES"),
            SystemCommand::UnloadDictionary(name) => write!(f, "UNLOAD DICTIONARY {name}"),
            SystemCommand::UnloadDictionaries => f.write_str("UNLOAD DICTIONARIES"),
            SystemCommand::FlushLogs => f.write_str("FLUSH LOGS"),
            SystemCommand::DropCaches { which } => write!(f, "DROP {which} CACHE"),
            SystemCommand::StopTtlMerges(name) => write!(f, "STOP TTL MERGES{}", Clause("", name)),
            SystemCommand::StartTtlMerges(name) => write!(f, "START TTL MERGES{}", Clause("", name)),
            SystemCommand::StopMerges(name) => write!(f, "STOP MERGES{}", Clause("", name)),
            SystemCommand::StartMerges(name) => write!(f, "START MERGES{}", Clause("", name)),
            SystemCommand::RestoreTable(name) => write!(f, "RESTORE TABLE {name}"),
            SystemCommand::Shutdown => f.write_str("SHUTDOWN"),
            SystemCommand::Other { words } => f.write_str(words),
        }
    }
}
