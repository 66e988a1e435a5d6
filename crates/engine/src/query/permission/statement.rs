//! Each kind of statement.

use basalt_access::{Path, PrivilegeSet};
use basalt_base::Result;
use basalt_sql::ast::{
    CreateTable, Describe, Expr, Insert, InsertSource, InsertTarget, Literal, ObjectKind, ObjectName,
    Statement, SystemCommand, TableSource,
};

use super::checker::{Checker, Verb, of_kind};
use crate::access_control::check_table_function;
use crate::execution::Execution;
use crate::names::split_name;

/// ACCESS_DENIED unless the user of the query has the privileges for the statement.
pub(crate) fn check(query: &Execution, statement: &Statement) -> Result<()> {
    let access = &query.access;
    if access.is_unlimited() {
        return Ok(());
    }
    Checker { query, access }.check(statement)
}

impl Checker<'_> {
    fn check(&self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Query(_)
            | Statement::Explain(_)
            | Statement::Set { .. }
            | Statement::KillQuery { .. } => Ok(()),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Copy(copy) => {
                if copy.path.is_some() {
                    self.global("FILE")?;
                }
                self.columns("INSERT", &copy.table, &copy.columns)
            }
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateDatabase(create) => {
                self.on(PrivilegeSet::of("CREATE DATABASE"), &Path::of(&[&create.name]))
            }
            Statement::CreateView(create) => {
                self.made("CREATE VIEW", &create.name)?;
                self.replace(create.or_replace, ObjectKind::View, &create.name)
            }
            Statement::CreateDictionary(create) => {
                self.made("CREATE DICTIONARY", &create.name)?;
                self.replace(create.or_replace, ObjectKind::Dictionary, &create.name)?;
                // The source is read with the rights of the engine.
                self.global("SOURCES")?;
                self.global("SELECT")
            }
            Statement::Drop(drop) if drop.temporary => Ok(()),
            Statement::Drop(drop) => {
                drop.names.iter().try_for_each(|name| self.kind(Verb::Drop, drop.kind, name))
            }
            Statement::Detach(detach) => self.kind(Verb::Drop, detach.kind, &detach.name),
            Statement::Attach { kind, name, .. } => self.made_kind(*kind, name),
            Statement::Truncate { name, .. } => self.named("TRUNCATE", name),
            Statement::Alter(alter) => self.alter(alter),
            Statement::Rename { kind, pairs } => {
                pairs.iter().try_for_each(|pair| self.moved(*kind, &pair.from, &pair.to))
            }
            Statement::Exchange { kind, left, right } => {
                self.moved(*kind, left, right)?;
                self.moved(*kind, right, left)
            }
            Statement::Delete { table, filter, .. } => {
                self.named("ALTER DELETE", table)?;
                self.mutation([filter])
            }
            Statement::Update(update) => {
                let columns: Vec<String> = update.assignments.iter().map(|(name, _)| name.clone()).collect();
                self.columns("ALTER UPDATE", &update.table, &columns)?;
                self.mutation(update.assignments.iter().map(|(_, value)| value).chain([&update.filter]))
            }
            Statement::Backup { table, .. } => self.named("BACKUP", table),
            Statement::Restore { table, new_name, .. } => {
                let path = self.new_path(new_name.as_ref().unwrap_or(table));
                self.on(PrivilegeSet::of("CREATE TABLE"), &path)?;
                self.on(PrivilegeSet::of("INSERT"), &path)
            }
            Statement::Optimize { table, .. } => self.named("OPTIMIZE", table),
            Statement::Check(check) => self.named("CHECK", &check.table),
            Statement::KillMutation { .. } => self.global("ALTER TABLE"),
            other => self.check_other(other),
        }
    }

    fn check_other(&self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::CreateNamedCollection(_) => self.global("CREATE NAMED COLLECTION"),
            Statement::AlterNamedCollection(_) => self.global("ALTER NAMED COLLECTION"),
            Statement::DropNamedCollection { .. } => self.global("DROP NAMED COLLECTION"),
            Statement::Use(database) => self.seen("SHOW DATABASES", &Path::of(&[database])),
            Statement::Exists { kind, name } => self.seen_kind(*kind, name),
            Statement::Describe(Describe::Table { name, .. }) => self.seen_whole(name),
            Statement::Show(show) => self.show(&show.what),
            Statement::System(command) => self.system(command),
            Statement::Access(statement) => self.statement_of_access(statement),
            _ => Ok(()),
        }
    }

    fn insert(&self, insert: &Insert) -> Result<()> {
        if let InsertSource::Infile { .. } = &insert.source {
            self.global("FILE")?;
        }
        match &insert.target {
            InsertTarget::Table(name) => self.columns("INSERT", name, &insert.columns),
            InsertTarget::Function(call) => check_table_function(self.access, &call.name),
        }
    }

    fn create_table(&self, create: &CreateTable) -> Result<()> {
        if create.temporary {
            return self.global("CREATE TEMPORARY TABLE");
        }
        self.made("CREATE TABLE", &create.name)?;
        if let Some(engine) = create.engine.as_ref().filter(|engine| engine.name == "Dictionary") {
            self.dictionary(&engine.args)?;
        }
        // The second argument is a directory.
        if create
            .engine
            .as_ref()
            .is_some_and(|engine| engine.name == "EmbeddedRocksDB" && engine.args.len() > 1)
        {
            self.global("FILE")?;
        }
        self.replace(create.or_replace, ObjectKind::Table, &create.name)?;
        match &create.source {
            Some(TableSource::Like(name)) => self.seen_whole(name),
            Some(TableSource::Query(_)) => self.on(PrivilegeSet::of("INSERT"), &self.new_path(&create.name)),
            _ => Ok(()),
        }
    }

    fn replace(&self, replaces: bool, kind: ObjectKind, name: &ObjectName) -> Result<()> {
        if replaces { self.on(of_kind(Verb::Drop, kind), &self.new_path(name)) } else { Ok(()) }
    }

    fn moved(&self, kind: ObjectKind, from: &ObjectName, to: &ObjectName) -> Result<()> {
        self.kind(Verb::Drop, kind, from)?;
        self.made_kind(kind, to)?;
        if kind == ObjectKind::Table {
            self.whole(from)?;
            self.on(PrivilegeSet::of("INSERT"), &self.new_path(to))?;
        }
        Ok(())
    }

    /// The dictionary that an ENGINE = Dictionary names.
    fn dictionary(&self, args: &[Expr]) -> Result<()> {
        let name = match args {
            [Expr::Literal(Literal::String(name))] => String::from_utf8_lossy(name).into_owned(),
            [Expr::Identifier(parts)] => parts.join("."),
            _ => return self.global("dictGet"),
        };
        let (database, name) = split_name(&name, &self.query.database);
        self.on(PrivilegeSet::of("dictGet"), &Path::of(&[&database, &name]))
    }

    fn system(&self, command: &SystemCommand) -> Result<()> {
        match command {
            SystemCommand::ReloadDictionary(_)
            | SystemCommand::ReloadDictionaries
            | SystemCommand::UnloadDictionary(_)
            | SystemCommand::UnloadDictionaries => self.global("SYSTEM RELOAD DICTIONARY"),
            SystemCommand::FlushLogs => self.global("SYSTEM FLUSH LOGS"),
            SystemCommand::DropCaches { .. } => self.global("SYSTEM DROP CACHE"),
            SystemCommand::StopMerges(table) | SystemCommand::StartMerges(table) => {
                self.table_or_all("SYSTEM MERGES", table.as_ref())
            }
            SystemCommand::StopTtlMerges(table) | SystemCommand::StartTtlMerges(table) => {
                self.table_or_all("SYSTEM TTL MERGES", table.as_ref())
            }
            SystemCommand::Shutdown => self.global("SYSTEM SHUTDOWN"),
            SystemCommand::RestoreTable(_) | SystemCommand::Other { .. } => self.global("SYSTEM"),
        }
    }

    fn table_or_all(&self, privilege: &'static str, table: Option<&ObjectName>) -> Result<()> {
        match table {
            Some(table) => self.named(privilege, table),
            None => self.global(privilege),
        }
    }
}
